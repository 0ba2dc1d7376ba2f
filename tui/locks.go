package tui

import (
	"fmt"
	"maps"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

// locks lists all locks of all backends.
type locks struct {
	Context
	arranger
	width, height int
	// top is the first line shown, cursor the selected one, selected what it is: the cursor follows that.
	top, cursor int
	selected    thing
	// moved: somebody chose; until then the first line stays selected.
	moved bool
	// opened are the groups whose locks are shown.
	opened map[prefix]bool
	// inBeside: the keys move in the chain beside the table.
	inBeside bool
	input    filterInput
	beside   *chainPane
	spans    spans
	images   map[inspect.ID]image
}

func newLocks(host Context) screen {
	return &locks{
		Context: host, arranger: newArranger(host), opened: make(map[prefix]bool), input: newFilterInput(newFilter), beside: newChainPane(host),
		spans: make(spans), images: make(map[inspect.ID]image),
	}
}

func (s *locks) Open(p place) {
	if r := s.index.rows[p.lock]; r != nil && r.shown {
		s.selected, s.moved = thing{lock: p.lock}, true
		if s.want.grouped {
			s.opened[prefixOf(p.lock)] = true
		}
		s.follow()
	}
}

func (s *locks) Selected() subject { return subject{lock: s.selected.lock} }

func (s *locks) Crumb() string { return string(locksScreen) }

func (s *locks) SetSize(width, height int) {
	s.width, s.height = width, height
	s.beside.SetSize(width-s.tableWidth()-3, height-1)
	s.keepInSight()
	s.showBeside()
}

func (s *locks) wide() bool { return s.width >= besideWidth }

// tableWidth is what a wide window leaves beside the chain, which needs 74 cells.
func (s *locks) tableWidth() int {
	if !s.wide() {
		return s.width
	}
	return s.width - 3 - max(74, s.width*2/5)
}

// rows is how many lines of the table fit below the summary and the header.
func (s *locks) rows() int { return max(1, s.height-2) }

func (s *locks) Sight() (at, of, rows int) { return s.cursor, s.index.lines(s.opened), s.rows() }

func (s *locks) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		s.spans.note(s.Snapshot(), s.index, msg.changed)
		if msg.all {
			maps.DeleteFunc(s.spans, func(id inspect.ID, _ time.Duration) bool { return s.Snapshot().Lock(id) == nil })
		}
		s.take(msg)
		s.follow()
	case arrangedMsg:
		if s.arranged(msg) {
			s.follow()
		}
	case timePassedMsg:
		if s.aged() {
			s.follow()
		}
	case tea.MouseWheelMsg:
		s.move(wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// click selects a line; a click on the selected one opens it, one on a title sorts by its column.
func (s *locks) click(msg tea.MouseClickMsg) {
	at := s.top + msg.Y - 2
	switch {
	case msg.Button != tea.MouseLeft || msg.X >= s.tableWidth() || msg.Y < 1:
	case msg.Y == 1:
		if by, ok := s.sortingAt(msg.X); ok {
			s.sortBy(by)
		}
	case at >= s.index.lines(s.opened):
	case at == s.cursor:
		s.enter()
	default:
		s.inBeside = false
		s.move(at - s.cursor)
	}
}

// follow finds the selected thing again after the lines changed; when it is gone the cursor stays where it was.
func (s *locks) follow() {
	if s.moved {
		if at := s.index.line(s.opened, s.selected); at >= 0 {
			s.cursor = at
		}
	}
	s.moveTo(s.cursor)
}

func (s *locks) move(by int) {
	if s.inBeside && s.wide() {
		s.beside.Move(by)
		return
	}
	s.moved = true
	s.moveTo(s.cursor + by)
}

func (s *locks) moveTo(at int) {
	s.cursor = max(0, min(at, s.index.lines(s.opened)-1))
	s.selected = thing{}
	if here := s.index.slice(s.opened, s.cursor, 1); len(here) > 0 {
		s.selected = here[0].thing()
	}
	s.showBeside()
	s.keepInSight()
}

func (s *locks) showBeside() {
	if s.wide() {
		s.beside.Show(s.selected.lock)
	}
}

func (s *locks) keepInSight() {
	rows := s.rows()
	s.top = max(0, min(s.top, s.index.lines(s.opened)-rows))
	s.top = min(s.top, s.cursor)
	s.top = max(s.top, s.cursor-rows+1)
}

// onGroup is the group whose head is selected.
func (s *locks) onGroup() (prefix, bool) {
	return s.selected.group, s.selected.group != (prefix{})
}

// enter opens what is selected: a lock's chain, or a group and, the next time, closes it again.
func (s *locks) enter() {
	if p, ok := s.onGroup(); ok {
		if s.opened[p] {
			delete(s.opened, p)
		} else {
			s.opened[p] = true
		}
		s.moved = true
		s.follow()
		return
	}
	if s.selected.lock != (inspect.ID{}) {
		s.Go(chainScreen, s.Selected())
	}
}

// closeGroup closes the group that is selected or that the selected lock is in.
func (s *locks) closeGroup() {
	p, ok := s.onGroup()
	if !ok {
		p = prefixOf(s.selected.lock)
	}
	delete(s.opened, p)
	s.selected, s.moved = thing{group: p}, true
	s.follow()
}

func (s *locks) group() {
	s.want.grouped = !s.want.grouped
	s.moved = s.moved || s.selected != (thing{})
	if s.want.grouped && s.selected.lock != (inspect.ID{}) {
		s.opened[prefixOf(s.selected.lock)] = true // what one looks at stays in sight
	}
	s.arrange()
	s.follow()
}

// nextSorting sorts by the next column that is shown.
func (s *locks) nextSorting() {
	_, widths := s.columns()
	by := s.want.order.by
	for range sortings {
		by = (by + 1) % sortings
		if widths[by] > 0 {
			break
		}
	}
	s.want.order = order{by: by}
	s.arrange()
	s.follow()
}

// sortBy sorts by a column, or the other way round where it is sorted by that already.
func (s *locks) sortBy(by sorting) {
	o := s.want.order
	s.want.order = order{by: by, reversed: o.by == by && !o.reversed}
	s.arrange()
	s.follow()
}

func (s *locks) Actions() []action {
	none := func() string {
		if s.selected == (thing{}) {
			return "no lock is selected"
		}
		return ""
	}
	noLock := func() string {
		if s.selected.lock == (inspect.ID{}) {
			return "no lock is selected"
		}
		return ""
	}
	opens, help := "chain", "open the chain: who holds it, who waits on whom"
	if _, ok := s.onGroup(); ok {
		opens, help = "open", "open the group, and close it"
	}
	list := []action{
		{keys: []string{"enter", "l", "right"}, shown: "enter l", hint: opens, help: help, disabled: none, run: do(s.enter)},
	}
	list = append(list, s.input.actions("show only locks with all these: "+fieldNames, s.filtered)...)
	list = append(list,
		action{keys: []string{"s"}, shown: "s", hint: "sort", help: "sort by the next column", run: do(s.nextSorting)},
		action{keys: []string{"p"}, shown: "p", hint: "group", help: "group by directory or key prefix, and not", run: do(s.group)},
		action{keys: []string{"y"}, shown: "y", hint: "copy", help: "copy the path, the session, a command... by the terminal (OSC 52)", disabled: noLock, run: s.copy},
		action{keys: []string{"S"}, shown: "S", help: "turn the order round", run: do(func() { s.sortBy(s.want.order.by) })},
	)
	if s.want.grouped {
		list = append(list, action{keys: []string{"h", "left"}, shown: "h", hint: "close", help: "close the group", disabled: none, run: do(s.closeGroup)})
	}
	list = append(list, action{
		keys: []string{"tab"}, shown: "tab", help: "next pane, in a wide window: the chain beside the table",
		disabled: func() string {
			if !s.wide() {
				return fmt.Sprintf("one pane here; from %d columns on the chain stands beside", besideWidth)
			}
			return ""
		},
		run: do(func() { s.inBeside = !s.inBeside }),
	})
	return append(list, moves(s.move, s.rows)...)
}

func (s *locks) copy() tea.Cmd { return copyMenu(s, s.Snapshot().Lock(s.selected.lock), nil) }

// filtered takes over what the filter's line says now.
func (s *locks) filtered() {
	s.want.filter = s.input.filter
	s.arrange()
	s.follow()
}

func (s *locks) Typing() bool { return s.input.open }

// TakeKey types into the filter while it is open. The lock that a filter has found stays selected after it.
func (s *locks) TakeKey(msg tea.KeyPressMsg) bool {
	if !s.input.open {
		return false
	}
	switch msg.String() {
	case "up":
		s.move(-1)
		return true
	case "down":
		s.move(1)
		return true
	case "enter", "esc":
		s.moved = s.moved || s.input.text() != "" && s.selected != (thing{})
	}
	if s.input.key(msg) {
		s.filtered()
	}
	return true
}

func (s *locks) Focus() []inspect.ID {
	ids := make([]inspect.ID, 0, s.rows())
	for _, e := range s.visible() {
		if e.row != nil {
			ids = append(ids, e.row.lock.ID)
		}
	}
	return ids
}

// visible are the lines in sight.
func (s *locks) visible() []tableLine { return s.index.slice(s.opened, s.top, s.rows()) }

func (s *locks) Lively() bool {
	for _, e := range s.visible() {
		if e.row != nil && tenths(s, e.row.lock) {
			return true
		}
	}
	return s.wide() && s.beside.Lively()
}
