package tui

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
)

const locksScreen screenName = "locks"

// besideWidth is the width from which the selected lock's chain stands beside the table.
const besideWidth = 160

// locks lists all locks of all backends.
type locks struct {
	*world
	index         *index
	width, height int
	// top is the first row shown, cursor the selected one, selected its lock: the cursor follows the lock.
	top, cursor int
	selected    inspect.ID
	// moved: somebody chose; until then the first row stays selected.
	moved     bool
	filtering bool
	// inBeside: the keys move in the chain beside the table.
	inBeside bool
	field    field
	beside   *chainPane
}

func newLocks(w *world) screen {
	return &locks{world: w, index: newIndex(), beside: newChainPane(w)}
}

func (s *locks) Open(p place) {
	if s.index.place(p.lock) >= 0 {
		s.selected, s.moved = p.lock, true
		s.follow()
	}
}

func (s *locks) Selected() subject { return subject{lock: s.selected} }

func (s *locks) Crumb() string { return string(locksScreen) }

func (s *locks) SetSize(width, height int) {
	s.width, s.height = width, height
	s.beside.SetSize(width-s.tableWidth()-3, height-1)
	s.keepInSight()
}

// tableWidth is what a wide window leaves beside the chain, which needs 74 cells.
func (s *locks) tableWidth() int {
	if s.width < besideWidth {
		return s.width
	}
	return s.width - 3 - max(74, s.width*2/5)
}

// rows is how many rows of the table fit below the summary and the header.
func (s *locks) rows() int { return max(1, s.height-2) }

func (s *locks) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case snapshotShownMsg:
		if msg.all {
			s.index.reset(s.snapshot)
		} else {
			s.index.update(s.snapshot, msg.changed)
		}
		s.follow()
	case tea.MouseWheelMsg:
		s.move(wheel(msg))
	case tea.MouseClickMsg:
		s.click(msg)
	}
	return nil
}

func wheel(msg tea.MouseWheelMsg) int {
	switch msg.Button {
	case tea.MouseWheelUp:
		return -3
	case tea.MouseWheelDown:
		return 3
	default:
		return 0
	}
}

// click selects a row; a click on the selected one opens it.
func (s *locks) click(msg tea.MouseClickMsg) {
	at := s.top + msg.Y - 2
	if msg.Button != tea.MouseLeft || msg.Y < 2 || msg.X >= s.tableWidth() || at >= len(s.index.shown) {
		return
	}
	if at == s.cursor {
		s.enter()
		return
	}
	s.inBeside = false
	s.move(at - s.cursor)
}

// follow finds the selected lock again after the rows changed; when it is gone the cursor stays where it was.
func (s *locks) follow() {
	if at := s.index.place(s.selected); at >= 0 && s.moved {
		s.cursor = at
	}
	s.moveTo(s.cursor)
}

func (s *locks) move(by int) {
	if s.inBeside && s.width >= besideWidth {
		s.beside.Move(by)
		return
	}
	s.moved = true
	s.moveTo(s.cursor + by)
}

func (s *locks) moveTo(at int) {
	s.cursor = max(0, min(at, len(s.index.shown)-1))
	s.selected = inspect.ID{}
	if s.cursor < len(s.index.shown) {
		s.selected = s.index.shown[s.cursor].lock.ID
	}
	s.beside.Show(s.selected)
	s.keepInSight()
}

func (s *locks) keepInSight() {
	rows := s.rows()
	s.top = max(0, min(s.top, len(s.index.shown)-rows))
	s.top = min(s.top, s.cursor)
	s.top = max(s.top, s.cursor-rows+1)
}

func (s *locks) enter() {
	if s.selected != (inspect.ID{}) {
		s.open(chainScreen, s.Selected())
	}
}

func (s *locks) Actions() []action {
	none := func() string {
		if s.selected == (inspect.ID{}) {
			return "no lock is selected"
		}
		return ""
	}
	list := []action{
		{keys: []string{"enter", "l", "right"}, shown: "enter l", hint: "chain", help: "open the chain: who holds it, who waits on whom", disabled: none, run: do(s.enter)},
		{keys: []string{"/"}, shown: "/", hint: "filter", help: "show only locks that have all these words: name, owner, state...", run: do(func() { s.filtering = true })},
		{keys: []string{"s"}, shown: "s", hint: "sort", help: "sort by the next order", run: do(s.nextOrder)},
		{keys: []string{"y"}, shown: "y", hint: "copy", help: "copy the path, the session, a command... by the terminal (OSC 52)", disabled: none, run: func() tea.Cmd { return s.copyMenu(s.snapshot.Lock(s.selected), nil) }},
	}
	list = append(list, action{
		keys: []string{"tab"}, shown: "tab", help: "next pane, in a wide window: the chain beside the table",
		disabled: func() string {
			if s.width < besideWidth {
				return fmt.Sprintf("one pane here; from %d columns on the chain stands beside", besideWidth)
			}
			return ""
		},
		run: do(func() { s.inBeside = !s.inBeside }),
	})
	if s.field.value() != "" {
		list = append(list, action{keys: []string{"esc"}, shown: "esc", hint: "show all", help: "clear the filter", run: do(s.clear)})
	}
	return append(list, moves(s.move, s.rows)...)
}

// moves are the keys that move a cursor; every list has them.
func moves(move func(int), page func() int) []action {
	const all = 1 << 40
	by := func(n int) func() tea.Cmd { return do(func() { move(n) }) }
	return []action{
		{keys: []string{"up", "k"}, shown: "arrows jk", help: "move", run: by(-1)},
		{keys: []string{"down", "j"}, run: by(1)},
		{keys: []string{"pgup", "ctrl+b"}, shown: "pgup pgdn", help: "move by a page", run: do(func() { move(-page()) })},
		{keys: []string{"pgdown", "ctrl+f"}, run: do(func() { move(page()) })},
		{keys: []string{"g", "home"}, shown: "g G", help: "to the first, to the last", run: by(-all)},
		{keys: []string{"G", "end"}, run: by(all)},
	}
}

func (s *locks) nextOrder() {
	s.index.order((s.index.sorting + 1) % sortings)
	s.follow()
}

// choose keeps the lock that a filter has found.
func (s *locks) choose() {
	s.moved = s.moved || s.field.value() != "" && s.selected != (inspect.ID{})
}

func (s *locks) clear() {
	s.choose()
	s.filtering, s.field = false, field{}
	s.index.search("")
	s.follow()
}

// TakeKey types into the filter while it is open.
func (s *locks) TakeKey(msg tea.KeyPressMsg) bool {
	if !s.filtering {
		return false
	}
	switch msg.String() {
	case "esc":
		s.clear()
	case "enter":
		s.filtering = false
		s.choose()
	case "up":
		s.move(-1)
	case "down":
		s.move(1)
	default:
		if s.field.press(msg) {
			s.index.search(s.field.value())
			s.follow()
		}
	}
	return true
}

// visible are the rows in sight.
func (s *locks) visible() []*row {
	end := min(len(s.index.shown), s.top+s.rows())
	return s.index.shown[min(s.top, end):end]
}

func (s *locks) Focus() []inspect.ID {
	ids := make([]inspect.ID, 0, s.rows())
	for _, r := range s.visible() {
		ids = append(ids, r.lock.ID)
	}
	return ids
}

func (s *locks) Lively() bool {
	for _, r := range s.visible() {
		if s.tenths(r.lock) {
			return true
		}
	}
	return s.width >= besideWidth && s.beside.Lively()
}

func (s *locks) View() string {
	width := s.tableWidth()
	tail := s.theme.Glyphs.Ellipsis
	table := []string{s.header(width)}
	for i, r := range s.visible() {
		table = append(table, s.rowView(r, width, s.top+i == s.cursor))
	}
	if len(s.index.shown) == 0 {
		table = append(table, s.empty(width)...)
	}
	for len(table) < s.height-1 {
		table = append(table, "")
	}
	body := strings.Join(table[:max(1, s.height-1)], "\n")
	if s.width >= besideWidth {
		wall := strings.TrimSuffix(strings.Repeat(s.theme.Faint.Render(" "+s.theme.Glyphs.Wall+" ")+"\n", s.height-1), "\n")
		body = lipgloss.JoinHorizontal(lipgloss.Top, lipgloss.NewStyle().Width(width).Render(body), wall, s.beside.View())
	}
	return s.summary().render(s.width, tail, nil) + "\n" + body
}

// summary counts the locks and says how they are sorted and filtered.
func (s *locks) summary() line {
	t, x := s.theme, s.index
	dot := " " + t.Glyphs.Dot + " "
	left := line{{" " + plural(len(x.rows), "lock"), t.Strong}}
	if len(x.terms) > 0 {
		left = line{{fmt.Sprintf(" %d of %s", len(x.shown), plural(len(x.rows), "lock")), t.Strong}}
	}
	left = left.add(t.Muted, fmt.Sprintf("%s%d contended", dot, x.contended))
	if x.critical > 0 {
		left = left.add(t.Muted, dot).add(t.Critical, fmt.Sprintf("%s %d critical", t.Glyphs.Critical, x.critical))
	}
	if x.warnings > 0 {
		left = left.add(t.Muted, dot).add(t.Warning, t.Glyphs.Warning+" "+plural(x.warnings, "warning"))
	}
	left = append(left, s.looking()...)
	right := line{{"sort: ", t.Muted}, {x.sorting.String() + " ", t.Text}}
	if s.filtering {
		right = append(line{{"/ ", t.Key}}, s.field.view(t, 30)...).add(t.Text, " ")
	} else if s.field.value() != "" {
		right = line{{"/ ", t.Key}, {printed(s.field.value()) + " ", t.Waiting}}
	}
	return spread(left, right, s.width, t.Glyphs.Ellipsis)
}

// looking says how far the first look around is.
func (s *locks) looking() line {
	scanned, busy := s.scanned()
	if !busy {
		return nil
	}
	return line{{fmt.Sprintf(" %s still looking, %d scanned", s.theme.Glyphs.Dot, scanned), s.theme.Waiting}}
}

func (w *world) scanned() (n int, busy bool) {
	for _, b := range w.snapshot.Backends {
		n += b.Scanned
		busy = busy || !b.FirstPass && b.State != inspect.Down
	}
	return n, busy
}

// empty says why there is nothing to see.
func (s *locks) empty(width int) []string {
	t := s.theme
	text, more := s.emptyWords()
	lines := []line{nil, {{"   " + text, t.Text}}, {{"   " + more, t.Muted}}}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.render(width, t.Glyphs.Ellipsis, nil)
	}
	return out
}

func (s *locks) emptyWords() (text, more string) {
	scanned, busy := s.scanned()
	down := 0
	for _, b := range s.snapshot.Backends {
		if b.State == inspect.Down {
			down++
		}
	}
	switch {
	case len(s.index.rows) > 0:
		return "No lock matches the filter.", "esc shows all of them."
	case s.feedError != nil:
		return "Nothing can be shown.", printed(s.feedError.Error())
	case len(s.snapshot.Backends) == 0:
		return "Connecting" + s.theme.Glyphs.Ellipsis, "No server has answered yet."
	case busy:
		return "No locks so far.", fmt.Sprintf("Still looking: %d directories and keys scanned.", scanned)
	case down == len(s.snapshot.Backends):
		return "Unknown: no backend can be reached.", "This does not say that there are no locks; the errors are above."
	case down > 0:
		return "No locks where we could look.", fmt.Sprintf("%d scanned; a backend is down, see above.", scanned)
	default:
		return "No locks.", fmt.Sprintf("Nothing under these roots and patterns is a lock; %d scanned.", scanned)
	}
}
