package chain

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/ticket"
	"github.com/lockscope/lockscope/tui/screen"
)

// Screen shows one lock: its holders and the waiters' predecessors, or the masters' votes.
type Screen struct {
	screen.Context
	Pane  *Pane
	root  rootCause
	input screen.FilterInput
}

func New(host screen.Context) screen.Screen {
	s := &Screen{Context: host, Pane: NewPane(host)}
	s.input = newSearch(s)
	return s
}

func (s *Screen) Open(p screen.Place, _ screen.SnapshotMsg) tea.Cmd {
	if p.Lock != (inspect.ID{}) {
		if p.Lock != s.Pane.id {
			s.input.Clear()
		}
		if s.OpenedFrom() == screen.Locks { // it starts at the holder
			s.Pane.selected, s.Pane.person, s.Pane.moved = "", nil, false
		}
		s.Pane.Show(p.Lock)
		s.Pane.Seek(p.Subject)
	} else {
		s.Pane.refresh()
	}
	s.wantPossible()
	return s.seekRoot()
}

// wantPossible asks which connections may belong to contenders without a known client.
func (s *Screen) wantPossible() {
	if l := s.Snapshot().Lock(s.Pane.id); l != nil {
		s.WantPossible(l)
	}
}

func (s *Screen) Selected() screen.Subject { return s.Pane.Selected() }

// Contender returns the selected contender and its lock.
func (s *Screen) Contender() (*inspect.Lock, *inspect.Contender) {
	l := s.Snapshot().Lock(s.Pane.id)
	if l == nil || s.Pane.onGroup() {
		return l, nil
	}
	return l, s.Pane.target(l)
}

func (s *Screen) Title() string { return string(screen.Chain) }

func (s *Screen) SetSize(width, height int) { s.Pane.SetSize(width, height) }

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.SnapshotMsg:
		s.Pane.refresh()
		s.wantPossible()
		return s.seekRoot()
	case screen.HiddenMsg:
		s.Pane.Hide()
	case rootFoundMsg:
		s.root.found(msg)
		s.Pane.root = s.root.of(s.Pane.id)
	case tea.MouseWheelMsg:
		s.Pane.Move(screen.Wheel(msg))
	case tea.MouseClickMsg:
		if s.Pane.Click(msg.Y) {
			s.enter()
		}
	}
	return nil
}

func (s *Screen) Actions() []screen.Action {
	search := s.input.Actions("find an owner in the queue")
	search[0].Hint, search[0].Late = "find", true
	list := slices.Concat(search[1:], []screen.Action{
		{
			Keys: []string{"esc"}, Shown: "esc h", Hint: "back",
			Help: "back to where you came from; h first closes a group", Run: screen.Do(s.Back),
		},
		{Keys: []string{"h", "left"}, Run: screen.Do(s.leave)},
	})
	if root := s.Pane.root; root != nil {
		list = append(list, screen.Action{
			Keys: []string{"o"}, Shown: "o", Hint: "root", Help: "go to the lock that the holder itself waits for",
			Run: screen.Do(func() { s.Go(screen.Chain, screen.Subject{Lock: root.Lock.ID}) }),
		})
	}
	list = append(list, []screen.Action{
		{
			Keys: []string{"enter", "l", "right"}, Shown: "enter l", Hint: s.enterHint(),
			Help: "open the selected contender's owner, with all its locks; or a group", Run: screen.Do(s.enter),
		},
		{Keys: []string{"y"}, Shown: "y", Hint: "copy", Help: "copy path, session, command... (OSC 52)", Run: s.copy},
		screen.TicketAction(s, func() (ticket.Ticket, bool) { return screen.LockTicket(s, s.Pane.id, nil) }),
	}...)
	list = append(list, search[0], screen.Action{
		Keys: []string{"tab"}, Shown: "tab", Help: "next pane",
		Disabled: func() string { return "this screen has one pane" },
	})
	return append(list, screen.Moves(s.Pane.Move, s.Pane.page)...)
}

// enter opens the group under the cursor, or shows the other entries of its contender's owner.
func (s *Screen) enter() {
	if s.Pane.toggle() {
		return
	}
	about := s.Pane.Selected()
	if about.Owner == (inspect.Identity{}) {
		s.Flash("its owner is unknown")
		return
	}
	s.Go(screen.Clients, about)
}

func (s *Screen) enterHint() string {
	switch {
	case !s.Pane.onGroup():
		return "client"
	case s.Pane.selectedGroup().open:
		return "close"
	default:
		return "open"
	}
}

// leave closes the group around the cursor, or goes back.
func (s *Screen) leave() {
	if !s.Pane.closeGroup() {
		s.Back()
	}
}

// copy offers texts about the lock and the selected contender.
func (s *Screen) copy() tea.Cmd {
	l := s.Snapshot().Lock(s.Pane.id)
	if l == nil {
		return screen.CopyMenu(s, nil, nil)
	}
	return screen.CopyMenu(s, l, s.Pane.target(l))
}

func (s *Screen) Focus() []inspect.ID { return []inspect.ID{s.Pane.id} }

func (s *Screen) NeedsFastTick() bool { return s.Pane.NeedsFastTick() }

// View returns the pane. A search replaces its header.
func (s *Screen) View() string {
	search := s.searchLine(s.Pane.width)
	if search == nil {
		return s.Pane.View()
	}
	_, rest, _ := strings.Cut(s.Pane.View(), "\n")
	return search.Render(s.Pane.width, s.Theme().Glyphs.Ellipsis, nil) + "\n" + rest
}
