package findings

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/ticket"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Screen lists the problems of all locks and backends, the worst first, with the details of the
// selected one.
type Screen struct {
	screen.Context
	Index         *findingIndex
	input         screen.FilterInput
	finder        finder
	width, height int
	drawn         string
	list          widget.Scroller
	// group and Chosen are the selection, which the cursor follows. Chosen is nil on a group's
	// row.
	group  *foundGroup
	Chosen *found
	// moved is set once the user moves the cursor. Until then the first row stays selected.
	moved bool
	// inDetails is set while the details have the focus. over counts the lines below the last
	// visible one.
	inDetails bool
	text      widget.Scroller
	over      int
	// listed and message keep the lines below the list, and below the selected finding's message, in place.
	listed, message widget.Widest
}

func New(host screen.Context) screen.Screen {
	s := &Screen{Context: host, Index: NewFindingIndex(host.FoundAt), input: screen.NewFilterInput(screen.NewWords)}
	s.input.Move, s.input.Changed = s.move, s.search
	return s
}

// Open puts the cursor on the first finding of a lock.
func (s *Screen) Open(p screen.Place, missed screen.SnapshotMsg) tea.Cmd {
	s.Index.Update(s.Snapshot(), missed, true)
	s.follow()
	if s.OpenedFrom() == "" || p.Lock == (inspect.ID{}) {
		return nil // after going back, or without a lock
	}
	f := s.Index.first(p.Lock)
	if f == nil {
		return nil
	}
	if !f.match {
		s.input.Clear()
		s.search()
	}
	f.group.open = true
	s.moved = true
	s.moveTo(s.Index.at(f.group, f))
	return nil
}

func (s *Screen) Title() string { return string(screen.Findings) }

func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.list.To(s.list.At, s.Index.Rows(), s.rows())
	s.drawn = s.draw()
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.SnapshotMsg:
		s.Index.Update(s.Snapshot(), msg, false)
		s.follow()
	case findingsSoughtMsg:
		s.sought(msg)
	case tea.MouseWheelMsg:
		s.move(screen.Wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// click selects a row; a click on the selected one opens it.
func (s *Screen) click(msg tea.MouseClickMsg) {
	at := s.list.Top + msg.Y - 2
	switch {
	case msg.Button != tea.MouseLeft || msg.Y < 2:
	case msg.X >= s.tableWidth() || msg.Y-2 >= s.rows():
		s.inDetails = s.Chosen != nil || s.group != nil
	case at >= s.Index.Rows():
	case at == s.list.At:
		s.enter()
	default:
		s.inDetails, s.moved = false, true
		s.moveTo(at)
	}
}

// follow moves the cursor to the selection after the rows changed. If the selection is gone, the
// cursor stays.
func (s *Screen) follow() {
	if s.Chosen != nil {
		if f := s.Index.newest(s.Chosen); f != nil {
			if f.group != s.group { // it was muted or unmuted
				f.group.open = true
			}
			s.group, s.Chosen = f.group, f
		}
	}
	if at := s.Index.at(s.group, s.Chosen); at >= 0 && s.moved {
		s.list.At = at
	}
	s.moveTo(s.list.At)
}

func (s *Screen) move(by int) {
	if s.inDetails {
		s.text.Top = max(0, s.text.Top+min(by, s.over))
		return
	}
	s.moved = true
	s.moveTo(s.list.At + by)
}

func (s *Screen) moveTo(at int) {
	s.list.To(at, s.Index.Rows(), s.rows())
	group, chosen := s.Index.Row(s.list.At)
	if group != s.group || s.Chosen == nil != (chosen == nil) || chosen != nil && compareFound(chosen, s.Chosen) != 0 {
		s.text.Top, s.inDetails, s.message = 0, false, widget.Widest{}
	}
	s.group, s.Chosen = group, chosen
}

// enter opens or folds a group, and goes to a finding's lock or backend.
func (s *Screen) enter() {
	switch {
	case s.Chosen != nil && s.Chosen.aboutBackend():
		s.Go(screen.Backends, screen.Subject{Lock: s.Chosen.on})
	case s.Chosen != nil:
		s.Go(screen.Chain, s.Selected())
	case s.group != nil:
		s.moved = true
		s.group.open = !s.group.open
		s.follow()
	}
}

// Selected is the lock of the selected finding, and the owner that it is about.
func (s *Screen) Selected() screen.Subject {
	if s.Chosen == nil || s.Chosen.aboutBackend() {
		return screen.Subject{}
	}
	about := screen.Subject{Lock: s.Chosen.on}
	if c := s.contender(); c != nil {
		about.Owner, _ = c.Identity(s.Chosen.on.Backend)
	}
	return about
}

// contender is the contender that the finding is about; nil if none or it is gone.
func (s *Screen) contender() *inspect.Contender {
	l := s.Snapshot().Lock(s.Chosen.on)
	if name := s.Chosen.Subject.Contender; name != "" && l != nil {
		if c, ok := l.Contender(name); ok {
			return &c
		}
	}
	return nil
}

// Contender returns the contender that the selected finding is about.
func (s *Screen) Contender() (*inspect.Lock, *inspect.Contender) {
	if s.Chosen == nil {
		return nil, nil
	}
	return s.Snapshot().Lock(s.Chosen.on), s.contender()
}

// shown returns the selected finding, or those of the selected group that the filter shows.
func (s *Screen) shown() []*found {
	switch {
	case s.Chosen != nil:
		return []*found{s.Chosen}
	case s.group != nil:
		return s.group.Shown
	}
	return nil
}

// Findings returns the findings under the cursor.
func (s *Screen) Findings() []screen.FoundOn {
	var list []screen.FoundOn
	for _, f := range s.shown() {
		list = append(list, screen.FoundOn{On: f.on, Finding: &f.Finding})
	}
	return list
}

// Finding returns the finding under the cursor.
func (s *Screen) Finding() (screen.FoundOn, bool) {
	if s.Chosen == nil {
		return screen.FoundOn{}, false
	}
	return screen.FoundOn{On: s.Chosen.on, Finding: &s.Chosen.Finding}, true
}

// Marked are the locks of the selected group.
func (s *Screen) Marked() []inspect.ID {
	if s.Chosen != nil {
		return nil
	}
	var list []inspect.ID
	for _, f := range s.shown() {
		if !f.aboutBackend() && f.Muted == nil {
			list = append(list, f.on)
		}
	}
	return list
}

func (s *Screen) Actions() []screen.Action {
	enter := screen.Action{
		Keys: []string{"enter", "l", "right"}, Shown: "enter l", Hint: "chain",
		Help: "open the chain of the finding's lock", Run: screen.Do(s.enter),
	}
	switch {
	case s.Chosen == nil && s.group != nil && s.group.open:
		enter.Hint, enter.Help = "fold", "put the findings of this rule into one row"
	case s.Chosen == nil && s.group != nil:
		enter.Hint, enter.Help = "unfold", "list the findings of this rule"
	case s.Chosen == nil:
		enter.Disabled = func() string { return "nothing is selected" }
	case s.Chosen.aboutBackend():
		enter.Hint, enter.Help = "backends", "open the backends"
	}
	list := []screen.Action{enter}
	if s.inDetails {
		list = append(list, screen.LeaveAction(func() { s.inDetails = false }))
	}
	const about = "filter: show only findings that have all these words: rule, lock, message...; " +
		"~regex, !not, this or that"
	list = append(list, s.input.Actions(about)...)
	list = append(
		list,
		screen.Action{
			Keys: []string{"y"}, Shown: "y", Hint: "copy",
			Help: "copy the command of the advice, the path... via the terminal's clipboard (OSC 52)",
			Disabled: func() string {
				if s.Chosen == nil {
					return "no finding is selected"
				}
				return ""
			},
			Run: s.copy,
		},
		screen.TicketAction(s, s.ticket),
		screen.Action{
			Keys: []string{"tab"}, Shown: "tab",
			Help: "next pane: the list, or the selected finding's details",
			Disabled: func() string {
				if s.group == nil {
					return "nothing is selected"
				}
				return ""
			},
			Run: screen.Do(func() { s.inDetails = !s.inDetails && s.group != nil }),
		},
		screen.BackAction(s.Context),
		screen.Action{
			Keys: []string{"s"}, Shown: "s", Hint: "sort", Late: true,
			Help: "change the order: worst, oldest, newest, most, rule", Run: screen.Do(s.nextOrder),
		},
		screen.Action{Keys: []string{"S"}, Shown: "S", Help: "reverse the order", Run: screen.Do(s.reverse)},
	)
	return append(list, screen.Moves(s.move, s.rows)...)
}

// ticket is the ticket of the selected finding.
func (s *Screen) ticket() (ticket.Ticket, bool) {
	if s.Chosen == nil {
		return ticket.Ticket{}, false
	}
	if !s.Chosen.aboutBackend() {
		return screen.LockTicket(s, s.Chosen.on, &s.Chosen.Finding)
	}
	b := s.Snapshot().Backend(s.Chosen.on.Backend)
	return ticket.OfBackend(screen.Ages(s), b, &s.Chosen.Finding), b != nil
}

// copy offers the commands of the advice before the commands about the lock.
func (s *Screen) copy() tea.Cmd {
	menu := &screen.Copying{Context: s.Context, Id: s.Chosen.on, Choices: screen.AdvisedCommands(&s.Chosen.Finding)}
	menu.Choices = append(menu.Choices, describe.Command{Name: "message", Text: describe.Printable(s.Chosen.Message)})
	if l := s.Snapshot().Lock(s.Chosen.on); l != nil {
		menu.Choices = append(menu.Choices, screen.CopyChoices(s, l, s.contender())...)
	}
	s.Push(menu)
	return nil
}

// Input is the filter of the list.
func (s *Screen) Input() *screen.FilterInput { return &s.input }

// Focus returns the locks of the selected finding, so that its evidence stays current.
func (s *Screen) Focus() []inspect.ID {
	if s.Chosen == nil || s.Chosen.aboutBackend() {
		return nil
	}
	ids := []inspect.ID{s.Chosen.on}
	for _, text := range s.Chosen.cycle {
		if id, err := inspect.ParseID(text); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *Screen) NeedsFastTick() bool { return false }
