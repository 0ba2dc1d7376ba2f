package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// findings lists what is wrong with any lock or backend, the worst first, and all that is known of the selected one.
type findings struct {
	Context
	index         *findingIndex
	input         filterInput
	finder        finder
	width, height int
	// top is the first row shown, cursor the selected one; group and chosen what that is: the cursor follows it. chosen is
	// nil on the row of a group.
	top, cursor int
	group       *foundGroup
	chosen      *found
	// moved: somebody chose; until then the first row stays selected.
	moved bool
	// inDetails: the keys move in the details, of which scroll lines are above the first in sight; over are those below
	// the last one.
	inDetails    bool
	scroll, over int
}

func newFindings(host Context) screen {
	return &findings{Context: host, index: newFindingIndex(), input: newFilterInput(newWords)}
}

// Open puts the cursor on the first finding of a lock.
func (s *findings) Open(p place) {
	if s.Opener() == "" || p.lock == (inspect.ID{}) {
		return // gone back to, or about nothing
	}
	f := s.index.first(p.lock)
	if f == nil {
		return
	}
	if !f.match {
		s.input.clear()
		s.search()
	}
	f.group.open = true
	s.moved = true
	s.moveTo(s.index.at(f.group, f))
}

func (s *findings) Crumb() string { return string(findingsScreen) }

func (s *findings) SetSize(width, height int) {
	s.width, s.height = width, height
	s.keepInSight()
}

func (s *findings) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		s.index.update(s.Snapshot(), msg)
		s.follow()
	case findingsSoughtMsg:
		s.sought(msg)
	case tea.MouseWheelMsg:
		s.move(wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// click selects a row; a click on the selected one opens it.
func (s *findings) click(msg tea.MouseClickMsg) {
	at := s.top + msg.Y - 2
	switch {
	case msg.Button != tea.MouseLeft || msg.Y < 2:
	case msg.X >= s.tableWidth() || msg.Y-2 >= s.rows():
		s.inDetails = s.chosen != nil || s.group != nil
	case at >= s.index.rows():
	case at == s.cursor:
		s.enter()
	default:
		s.inDetails, s.moved = false, true
		s.moveTo(at)
	}
}

// follow finds what was selected after the rows changed; when it is gone the cursor stays where it was.
func (s *findings) follow() {
	if s.chosen != nil {
		if f := s.index.newest(s.chosen); f != nil {
			s.group, s.chosen = f.group, f
		}
	}
	if at := s.index.at(s.group, s.chosen); at >= 0 && s.moved {
		s.cursor = at
	}
	s.moveTo(s.cursor)
}

func (s *findings) move(by int) {
	if s.inDetails {
		s.scroll = max(0, min(s.scroll+by, s.scroll+s.over))
		return
	}
	s.moved = true
	s.moveTo(s.cursor + by)
}

func (s *findings) moveTo(at int) {
	s.cursor = max(0, min(at, s.index.rows()-1))
	group, chosen := s.index.row(s.cursor)
	if group != s.group || s.chosen == nil != (chosen == nil) || chosen != nil && compareFound(chosen, s.chosen) != 0 {
		s.scroll, s.inDetails = 0, false
	}
	s.group, s.chosen = group, chosen
	s.keepInSight()
}

func (s *findings) keepInSight() {
	rows := s.rows()
	s.top = max(0, min(s.top, s.index.rows()-rows))
	s.top = max(min(s.top, s.cursor), s.cursor-rows+1)
}

// enter opens or folds a group, and goes to a finding's lock or backend.
func (s *findings) enter() {
	switch {
	case s.chosen != nil && s.chosen.aboutBackend():
		s.Go(backendsScreen, subject{lock: s.chosen.on})
	case s.chosen != nil:
		s.Go(chainScreen, s.Selected())
	case s.group != nil:
		s.moved = true
		s.group.open = !s.group.open
		s.follow()
	}
}

// Selected is the lock of the selected finding, and who it is about.
func (s *findings) Selected() subject {
	if s.chosen == nil || s.chosen.aboutBackend() {
		return subject{}
	}
	about := subject{lock: s.chosen.on}
	if c := s.contender(); c != nil {
		about.owner, _ = c.Identity(s.chosen.on.Backend)
	}
	return about
}

// contender is the one that the evidence names; nil when it names none or that one is gone.
func (s *findings) contender() *inspect.Contender {
	name, ok := s.chosen.Evidence["contender"].(string)
	l := s.Snapshot().Lock(s.chosen.on)
	if raw, err := inspect.Unescape(name); ok && err == nil && l != nil {
		if c, ok := l.Contender(inspect.Untrusted(raw)); ok {
			return &c
		}
	}
	return nil
}

func (s *findings) Actions() []action {
	enter := action{keys: []string{"enter", "l", "right"}, shown: "enter l", hint: "chain", help: "open the chain of the finding's lock", run: do(s.enter)}
	switch {
	case s.chosen == nil && s.group != nil && s.group.open:
		enter.hint, enter.help = "fold", "put the findings of this rule into one row"
	case s.chosen == nil && s.group != nil:
		enter.hint, enter.help = "unfold", "list the findings of this rule"
	case s.chosen == nil:
		enter.disabled = func() string { return "nothing is selected" }
	case s.chosen.aboutBackend():
		enter.hint, enter.help = "backends", "open the backends"
	}
	list := []action{enter}
	list = append(list, s.input.actions("show only findings that have all these words: rule, lock, message...", s.search)...)
	list = append(
		list,
		action{
			keys: []string{"y"}, shown: "y", hint: "copy", help: "copy the command of the advice, the path... by the terminal (OSC 52)",
			disabled: func() string {
				if s.chosen == nil {
					return "no finding is selected"
				}
				return ""
			},
			run: s.copy,
		},
		action{
			keys: []string{"tab"}, shown: "tab", help: "next pane: move in the list, or in what is known of the selected finding",
			run: do(func() { s.inDetails = !s.inDetails && s.group != nil }),
		},
		backAction(s.Context),
	)
	return append(list, moves(s.move, s.rows)...)
}

// copy offers the commands of the advice before what is known of the lock.
func (s *findings) copy() tea.Cmd {
	menu := &copying{Context: s.Context, id: s.chosen.on}
	for _, p := range describe.Phrases(describe.Printable(s.chosen.Advice)) {
		if p.Command {
			menu.choices = append(menu.choices, describe.Command{Name: "command", Text: p.Text})
		}
	}
	menu.choices = append(menu.choices, describe.Command{Name: "message", Text: describe.Printable(s.chosen.Message)})
	if l := s.Snapshot().Lock(s.chosen.on); l != nil {
		menu.choices = append(menu.choices, copyChoices(s, l, s.contender())...)
	}
	s.Push(menu)
	return nil
}

func (s *findings) Typing() bool { return s.input.open }

// TakeKey types into the filter while it is open.
func (s *findings) TakeKey(msg tea.KeyPressMsg) bool {
	return s.input.take(msg, s.move, s.search)
}

// Focus are the locks of the selected finding, so that its evidence is as new as can be.
func (s *findings) Focus() []inspect.ID {
	if s.chosen == nil || s.chosen.aboutBackend() {
		return nil
	}
	ids := []inspect.ID{s.chosen.on}
	for _, text := range s.chosen.ring {
		if id, err := inspect.ParseID(text); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *findings) Lively() bool { return false }
