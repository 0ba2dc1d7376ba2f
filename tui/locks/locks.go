package locks

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/chain"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Screen lists all locks of all backends.
type Screen struct {
	screen.Context
	arranger
	width, height int
	drawn         string
	table         widget.Scroller
	// usual is the configured table, shown is the chosen one, and before is the one that
	// toggleNames replaced.
	usual, shown, before table
	// Current is the selection, which the cursor follows.
	Current Selection
	// moved is set once the user moves the cursor. Until then the first line stays selected.
	moved bool
	// sought was selected before the user typed a filter. The cursor returns to it if it is
	// shown, and otherwise goes to the first match.
	sought Selection
	// Opened lists the groups whose locks are shown.
	Opened map[Prefix]bool
	// inChain is set while the chain has the focus.
	inChain    bool
	input      screen.FilterInput
	chainPane  *chain.Pane
	needs      needs
	measured   int      // the value of settles at the last measurement
	free       overview // in the lines below the table
	cachedRows map[inspect.ID]cachedRow
	// matches are the contenders because of which the filter shows the visible locks.
	matches map[inspect.ID]*inspect.Contender
	// marks lists the locks for the next action, instead of the selected one.
	marks map[inspect.ID]bool
	// scanned is when we last saw a backend whose first pass was incomplete.
	scanned time.Time
}

// New makes the screen with the named columns, or with the usual ones if there are no names.
func New(host screen.Context, columns []string) screen.Screen {
	shown, _ := newTable(columns)
	s := &Screen{
		usual: shown, shown: shown,
		Context: host, arranger: newArranger(host), Opened: make(map[Prefix]bool),
		input: screen.NewFilterInput(screen.NewFilter), chainPane: chain.NewPane(host),
		cachedRows: make(map[inspect.ID]cachedRow), marks: make(map[inspect.ID]bool),
		matches: make(map[inspect.ID]*inspect.Contender),
	}
	s.input.Move, s.input.Changed = s.move, s.filtered
	s.input.Words = "in any name, host, session or finding"
	s.input.Chosen = func() { // it stays selected
		if s.input.Text() != "" && s.Current != (Selection{}) {
			s.moved, s.sought = true, Selection{}
		}
	}
	return s
}

func (s *Screen) Open(p screen.Place, missed screen.SnapshotMsg) tea.Cmd {
	s.changed(missed)
	if !s.Busy && len(s.Index.unsettled) <= screen.AtOnce { // locks deleted meanwhile need no line
		s.Index.settle(s.Now().Add(lineKept))
		s.follow()
	}
	if r := s.Index.Rows[p.Lock]; r != nil && r.placed {
		s.Current, s.moved = Selection{Lock: p.Lock}, true
		if s.Want.Grouped {
			s.Opened[prefixOf(p.Lock)] = true
		}
		s.seek()
		if p.Contender != "" {
			s.chainPane.Show(p.Lock)
			s.chainPane.Seek(p.Subject)
		}
	}
	return nil
}

// changed updates the table.
func (s *Screen) changed(msg screen.SnapshotMsg) {
	s.apply(msg)
	s.follow()
	if _, scanning := screen.Scanned(s); scanning {
		s.scanned = s.Now()
	}
	s.settle(s.reading() && !s.moved)
	s.follow()
}

// reading reports whether the first order is still preliminary: the first findings come a moment
// after the locks.
func (s *Screen) reading() bool {
	return !s.scanned.IsZero() && s.Now().Sub(s.scanned).Abs() < settleStart
}

func (s *Screen) Selected() screen.Subject { return screen.Subject{Lock: s.Current.Lock} }

func (s *Screen) Title() string { return string(screen.Locks) }

// SetSize lays out and draws the screen.
func (s *Screen) SetSize(width, height int) {
	if width != s.width {
		s.needs = needs{}
	}
	s.width, s.height = width, height
	s.table.To(s.table.At, s.Index.Lines(s.Opened), s.rows())
	s.chainPane.Unfocused = !s.inChain
	switch {
	case s.wide():
		s.showPane()
		s.chainPane.SetSize(width-s.tableWidth()-3, height-1)
	case s.stacked():
		s.showPane()
		s.chainPane.SetSize(width, height-s.rows()-3)
	}
	s.measure()
	s.drawn = s.draw()
}

// measure computes the room that the visible locks need. Columns only grow, but an empty FINDING
// leaves its room to the names once rows move anyway.
func (s *Screen) measure() {
	s.needs.domain = describe.SharedDomain(s.Snapshot())
	finding := s.needs.finding
	if s.measured != s.settles {
		s.measured, s.needs.finding = s.settles, 0
	}
	clear(s.matches)
	for _, e := range s.Visible() {
		if e.Row == nil {
			continue
		}
		if l := s.Snapshot().Lock(e.Row.ID); l != nil {
			of := cellOf(s, l)
			of.matched = matched(s, l)
			s.matches[l.ID] = of.matched
			if e.inside {
				of.group = prefixOf(l.ID).Path
			}
			s.needs.grow(of)
		}
	}
	if s.needs.finding > 0 {
		s.needs.finding = max(finding, s.needs.finding)
	}
}

func (s *Screen) wide() bool { return s.width >= screen.SplitWidth && !s.shown.inFull }

// tableWidth is the room that a wide window leaves next to the chain, which needs 74 cells.
func (s *Screen) tableWidth() int {
	if !s.wide() {
		return s.width
	}
	return s.width - 3 - max(74, s.width*2/5)
}

// stacked reports whether the selected lock's chain is below the table, because the window is high
// enough but not wide enough.
func (s *Screen) stacked() bool {
	return !s.wide() && s.width >= stackedWidth && s.height >= stackedHeight && !s.shown.inFull
}

// The smallest screen with a chain below the table. The chain needs its columns and a dozen
// lines.
const stackedWidth, stackedHeight = 96, 28

// paned reports whether the selected lock's chain is shown.
func (s *Screen) paned() bool { return s.wide() || s.stacked() }

// rows is the number of table rows below the summary and the header. Above a chain, they take
// half of the lines.
func (s *Screen) rows() int {
	if s.stacked() {
		return (s.height - 2) / 2
	}
	return max(1, s.height-2)
}

func (s *Screen) ScrollPosition() (at, of, rows int) {
	at, of = s.table.At, s.Index.Lines(s.Opened)
	if !s.Want.Grouped { // lines of locks that are gone do not count
		at, of = max(0, min(at, s.Index.Shown-1)), s.Index.Shown
	}
	return at, of, s.rows()
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.SnapshotMsg:
		s.changed(msg)
	case screen.HiddenMsg:
		s.chainPane.Hide()
		clear(s.cachedRows)
	case arrangedMsg:
		switch asked := s.asked; {
		case !s.arranged(msg):
		case asked:
			s.seek()
		default:
			s.follow()
		}
	case screen.TickMsg:
		s.aged()
		s.settle(s.reading() && !s.moved)
		s.follow()
	case tea.MouseWheelMsg:
		s.move(screen.Wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

// click selects a line. A click on the selected line opens it, and one on a title sorts by its
// column.
func (s *Screen) click(msg tea.MouseClickMsg) {
	at := s.table.Top + msg.Y - 2
	switch {
	case msg.Button != tea.MouseLeft || msg.Y < 1:
	case s.wide() && msg.X >= s.tableWidth():
		s.clickChain(msg.Y - 1)
	case msg.Y == 1:
		if by := s.columnAt(msg.X); by != nil {
			s.sortBy(by)
		}
	case s.stacked() && msg.Y >= s.rows()+2:
		s.clickChain(msg.Y - s.rows() - 3)
	case at >= s.Index.Lines(s.Opened):
	case at == s.table.At:
		s.enter()
	default:
		s.inChain = false
		s.move(at - s.table.At)
	}
}

// clickChain moves to a line of the chain next to or below the table. A click on the selected line
// opens the chain.
func (s *Screen) clickChain(y int) {
	if was := s.inChain; s.chainPane.Click(y) && was {
		s.enter()
	}
	s.inChain = true
}

// follow keeps the selection under the cursor, at the same line of the window, after the locks
// changed. Even a lock that is gone stays there, since a key pressed now was meant for it.
func (s *Screen) follow() {
	at := s.Index.Line(s.Opened, s.Current)
	switch {
	case !s.moved || at == s.table.At:
	case !s.Want.Grouped:
		s.Index.pin(s.Current.Lock, s.table.At)
	case at >= 0:
		s.table.Top += at - s.table.At
		s.table.At = at
	}
	s.moveTo(s.table.At)
}

// seek moves to the selected lock or group after the user changed the arrangement.
func (s *Screen) seek() {
	wanted, filtering := s.Current, s.sought != (Selection{})
	if filtering {
		wanted = s.sought
	}
	at, named := s.Index.Line(s.Opened, wanted), -1
	if filtering && s.Index.Filter.Wordy() && !s.Index.Filter.MatchText(wanted.Lock.String()) {
		named = s.firstNamed()
	}
	switch {
	case named >= 0:
		s.table.At = named
	case !s.moved:
	case at >= 0:
		s.table.At = at
	case filtering:
		s.table.At = 0 // the first match
	}
	s.moveTo(s.table.At)
}

// firstNamed is the line of the first lock whose name matches, not just its host; -1 if none near
// the top does.
func (s *Screen) firstNamed() int {
	const looked = 1000
	return slices.IndexFunc(s.Index.Slice(s.Opened, 0, looked), func(e tableLine) bool {
		return e.Group == nil && s.Index.Filter.MatchText(e.Row.ID.String())
	})
}

// keysInChain reports whether a visible chain has the focus.
func (s *Screen) keysInChain() bool { return s.inChain && s.paned() }

func (s *Screen) move(by int) {
	if s.keysInChain() {
		s.chainPane.Move(by)
		return
	}
	s.moved, s.sought, s.settledAt = true, Selection{}, s.Now()
	s.moveTo(s.table.At + by)
}

func (s *Screen) moveTo(at int) {
	s.table.To(at, s.Index.Lines(s.Opened), s.rows())
	s.Current = Selection{}
	if here := s.Index.Slice(s.Opened, s.table.At, 1); len(here) > 0 {
		s.Current = here[0].Selection()
	}
	s.showPane()
}

func (s *Screen) showPane() {
	if s.paned() {
		s.chainPane.Show(s.Current.Lock)
	}
}

// onGroup is the selected group, if a group's head is selected.
func (s *Screen) onGroup() (Prefix, bool) {
	return s.Current.group, s.Current.group != (Prefix{})
}

// nextSorting sorts by the next visible column.
func (s *Screen) nextSorting() {
	widths := s.grid().widths
	all := s.shown.columns
	at := slices.Index(all, s.Want.Order.column())
	for range all {
		at = (at + 1) % len(all)
		if widths[at] > 0 {
			break
		}
	}
	s.Want.Order, s.needs = order{by: all[at]}, needs{}
	s.arrange()
	s.seek()
}

// toggleNames shows full names without other columns and the chain, or restores the previous
// table.
func (s *Screen) toggleNames() {
	if s.shown.inFull {
		s.Flash("all columns again")
		s.choose(s.before)
		return
	}
	s.Flash("full names")
	s.before = s.shown
	s.choose(namesTable())
}

// sortBy sorts by a column, or reverses the order if the table is already sorted by it.
func (s *Screen) sortBy(by *column) {
	o := s.Want.Order
	s.Want.Order, s.needs = order{by: by, reversed: o.column() == by && !o.reversed}, needs{}
	s.arrange()
	s.seek()
}

// filtered applies the filter's line.
func (s *Screen) filtered() {
	if s.sought == (Selection{}) {
		s.sought = s.Current
	}
	s.Want.Filter = s.input.Filter
	s.arrange()
	s.seek()
	if s.input.Text() == "" {
		s.sought, s.needs = Selection{}, needs{} // matches need no more room
	}
}

// Home selects the first lock if the selected one is free or gone.
func (s *Screen) Home() {
	id := s.Current.Lock
	if l := s.Snapshot().Lock(id); id != (inspect.ID{}) && (l == nil || l.State == inspect.StateFree) {
		s.moved = false
		s.moveTo(0)
	}
}

// Input is the filter of the list.
func (s *Screen) Input() *screen.FilterInput { return &s.input }

func (s *Screen) Focus() []inspect.ID {
	ids := make([]inspect.ID, 0, s.rows())
	for _, e := range s.Visible() {
		if e.Row != nil {
			ids = append(ids, e.Row.ID)
		}
	}
	return ids
}

// Visible returns the visible lines.
func (s *Screen) Visible() []tableLine { return s.Index.Slice(s.Opened, s.table.Top, s.rows()) }

func (s *Screen) NeedsFastTick() bool {
	for _, e := range s.Visible() {
		if e.Row == nil {
			continue
		}
		if l := s.Snapshot().Lock(e.Row.ID); l != nil && s.shown.inTenths(cellOf(s, l)) {
			return true
		}
	}
	return s.paned() && s.chainPane.NeedsFastTick()
}
