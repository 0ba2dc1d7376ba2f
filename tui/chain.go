package tui

import (
	"cmp"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/lockops/act"
)

// chain shows one lock: who holds it and who waits on whom, or how the masters vote.
type chain struct {
	Context
	pane *chainPane
	root rootCause
	// releaser finds who force-releases locks of a backend; nil where nothing may be written.
	releaser func(backend string) (act.Releaser, bool)
}

func newChain(host Context, releaser func(backend string) (act.Releaser, bool)) screen {
	return &chain{Context: host, pane: newChainPane(host), releaser: releaser}
}

func (s *chain) Open(p place) {
	if p.lock != (inspect.ID{}) {
		s.pane.Show(p.lock)
	}
}

func (s *chain) Selected() subject { return s.pane.Selected() }

func (s *chain) Crumb() string { return string(chainScreen) }

func (s *chain) SetSize(width, height int) { s.pane.SetSize(width, height) }

func (s *chain) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		if s.InFront() != chainScreen {
			s.pane.lanes.forget()
			return nil // it is looked at again when it comes to the front
		}
		s.pane.Refresh()
		return s.seekRoot()
	case rootFoundMsg:
		s.root.found(msg)
		s.pane.root = s.root.of(s.pane.id)
	case tea.MouseWheelMsg:
		s.pane.Move(wheel(msg))
	case tea.MouseClickMsg:
		if s.pane.Click(msg.Y) {
			s.enter()
		}
	}
	return nil
}

func (s *chain) Actions() []action {
	list := []action{
		{keys: []string{"esc"}, shown: "esc h", hint: "back", help: "back to where you came from; h first closes a group", run: do(s.Back)},
		{keys: []string{"h", "left"}, run: do(s.leave)},
	}
	if root := s.pane.root; root != nil {
		list = append(list, action{
			keys: []string{"o"}, shown: "o", hint: "root", help: "go to the lock that the holder itself waits for",
			run: do(func() { s.Go(chainScreen, subject{lock: root.Lock.ID}) }),
		})
	}
	list = append(list, []action{
		s.releaseAction(),
		{keys: []string{"enter", "l", "right"}, shown: "enter l", hint: s.enterHint(), help: "all that the selected contender's owner holds and waits for; opens a group", run: do(s.enter)},
		{keys: []string{"y"}, shown: "y", hint: "copy", help: "copy the path, the session, a command... by the terminal (OSC 52)", run: s.copy},
	}...)
	list = append(list, action{
		keys: []string{"tab"}, shown: "tab", help: "next pane",
		disabled: func() string { return "this screen has one pane" },
	})
	return append(list, moves(s.pane.Move, s.pane.page)...)
}

// enter opens the group that the cursor is on, or shows what else its contender is in.
func (s *chain) enter() {
	if s.pane.toggle() {
		return
	}
	about := s.pane.Selected()
	if about.owner == (inspect.Identity{}) {
		s.Flash("it is not known who is behind it")
		return
	}
	s.Go(clientsScreen, about)
}

func (s *chain) enterHint() string {
	switch {
	case !s.pane.onGroup():
		return "client"
	case s.pane.selectedGroup().open:
		return "close"
	default:
		return "open"
	}
}

// leave closes the group that the cursor is in, or goes back.
func (s *chain) leave() {
	if !s.pane.closeGroup() {
		s.Back()
	}
}

// copy offers what there is of the lock and of the selected contender.
func (s *chain) copy() tea.Cmd {
	l := s.Snapshot().Lock(s.pane.id)
	if l == nil {
		return copyMenu(s, nil, nil)
	}
	return copyMenu(s, l, s.pane.Target(l))
}

// releaseAction is the way to the release dialog. Where nothing may be written the key only says so.
func (s *chain) releaseAction() action {
	a := action{
		keys: []string{"x"}, shown: "x", hint: "force-release",
		help:   "force-release the selected holder: preview, then type the path",
		writes: true, disabled: s.cannotRelease, run: s.release,
	}
	if s.releaser == nil {
		why := cmp.Or(s.ReadOnly(), "read-only: start with --write")
		a.help = "force-release (" + why + ")"
		a.writes = false
		a.disabled = func() string { return why }
		a.run = func() tea.Cmd { return nil }
	}
	return a
}

func (s *chain) cannotRelease() string {
	l := s.Snapshot().Lock(s.pane.id)
	switch {
	case l == nil:
		return "the lock is gone"
	case s.pane.onGroup():
		return "these are several: open the group with enter and select one"
	case s.pane.Target(l) == nil:
		return "nobody holds it: there is nothing to release"
	}
	if _, ok := s.releaser(s.pane.id.Backend); !ok {
		return "backend " + describe.Printable(s.pane.id.Backend) + " cannot be written to"
	}
	return ""
}

func (s *chain) release() tea.Cmd {
	l := s.Snapshot().Lock(s.pane.id)
	releaser, _ := s.releaser(s.pane.id.Backend)
	d := newRelease(s.Context, releaser, l, s.pane.Target(l))
	s.Push(d)
	return d.start()
}

func (s *chain) Focus() []inspect.ID { return []inspect.ID{s.pane.id} }

func (s *chain) Lively() bool { return s.pane.Lively() }

func (s *chain) View() string { return s.pane.View() }
