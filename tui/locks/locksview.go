package locks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// View is the screen, as drawn by SetSize.
func (s *Screen) View() string { return s.drawn }

func (s *Screen) draw() string {
	g := s.grid()
	width := g.width
	tail := s.Theme().Glyphs.Ellipsis
	table := []string{s.header(g)}
	lines := s.Visible()
	for i, e := range lines {
		selected := s.table.Top+i == s.table.At
		if e.Group != nil {
			table = append(table, s.groupView(e.Group, width, selected))
		} else {
			table = append(table, s.rowView(e, g, selected))
		}
	}
	if len(lines) == 0 {
		table = append(table, s.empty(width)...)
	}
	if s.stacked() {
		table = widget.Filled(table, s.rows()+1)
		mark := s.Theme().Faint
		if s.inChain {
			mark = s.Theme().Waiting
		}
		table = append(table, mark.Render(strings.Repeat(s.Theme().Glyphs.Rule, width)), s.chainPane.View())
		return s.summary().Render(s.width, tail, nil) + "\n" + strings.Join(table, "\n")
	}
	if s.wide() && s.Index.Lines(s.Opened) == len(lines) {
		table = append(table, s.free.lines(s, lines, width, s.height-1-len(table))...)
	}
	for len(table) < s.height-1 {
		table = append(table, "")
	}
	body := strings.Join(table[:max(1, s.height-1)], "\n")
	if s.wide() {
		wall := strings.TrimSuffix(strings.Repeat(s.Theme().Faint.Render(" "+s.Theme().Glyphs.Wall+" ")+"\n",
			s.height-1), "\n")
		body = lipgloss.JoinHorizontal(lipgloss.Top, lipgloss.NewStyle().Width(width).Render(body), wall,
			s.chainPane.View())
	}
	return s.summary().Render(s.width, tail, nil) + "\n" + body
}

// summary counts the locks, with their order and filter. While the user types a filter, it shows
// the filter first.
func (s *Screen) summary() widget.Line {
	t, x, tail := s.Theme(), s.Index, s.Theme().Glyphs.Ellipsis
	dot := " " + t.Glyphs.Dot + " "
	if l := s.input.Prompt(t, "words of any name, host or finding, or: "+screen.FieldNames, s.matchCount(), s.width); l != nil {
		return l
	}
	left := widget.Line{{" " + describe.Count(len(x.Rows), "lock"), t.Strong}}
	if !x.Filter.Empty() {
		left = append(widget.Line{{" ", t.Text}}, s.matchCount()...)
	}
	if x.Filter.Wordy() { // more than the columns is searched
		left = left.Add(t.Muted, " by name or host")
	}
	left = left.Add(t.Muted, fmt.Sprintf(": %d %s", x.Contended, describe.StateWord(inspect.StateContended)))
	if len(x.Rows) == 0 && unreachable(s.Snapshot()) {
		left = widget.Line{{" locks unknown", t.Unknown}}
	}
	n := x.Findings
	left = left.Part(n.critical > 0, t, t.Critical, fmt.Sprintf("%s %d critical", t.Glyphs.Critical, n.critical))
	left = left.Part(n.warnings > 0, t, t.Warning, t.Glyphs.Warning+" "+describe.Count(n.warnings, "warning"))
	left = left.Part(n.muted > 0, t, t.Faint, fmt.Sprintf("%d muted", n.muted))
	left = left.Part(len(s.marks) > 0, t, t.Waiting, fmt.Sprintf("%d marked", len(s.marks)))
	left = append(left, s.looking()...)
	if s.width < 60 { // whole parts, the worst of them first
		left = widget.Whole(left, s.width-1)
	}
	right := widget.Line{{"sort: ", t.Muted}, {s.Want.Order.String() + " ", t.Text}}
	note := widget.Line{{dot[1:] + movesEvery + " ", t.Muted}}
	if s.Live() && left.Width()+widget.Gap+right.Width()+note.Width() <= s.width {
		right = append(right, note...)
	}
	if s.Busy {
		right = widget.Line{{"sorting" + tail + " ", t.Waiting}}
	}
	if l := s.input.View(t, s.width); l != nil {
		right = l
		left = widget.Whole(left, s.width-right.Width()-widget.Gap)
	}
	return widget.Spread(left, right, s.width, tail)
}

// matchCount shows how many locks match the filter.
func (s *Screen) matchCount() widget.Line {
	if s.Busy {
		return widget.Line{{"filtering" + s.Theme().Glyphs.Ellipsis, s.Theme().Waiting}}
	}
	return widget.Line{{
		fmt.Sprintf("%d of %s", s.Index.Shown, describe.Count(len(s.Index.Rows), "lock")), s.Theme().Strong,
	}}
}

// looking describes the progress of the first pass.
func (s *Screen) looking() widget.Line {
	t, dot := s.Theme(), " "+s.Theme().Glyphs.Dot+" "
	switch scanned, busy := screen.Scanned(s); {
	case busy:
		return widget.Line{{dot, t.Waiting}, {fmt.Sprintf("still scanning, %d so far", scanned), t.Waiting}}
	case s.reading():
		return widget.Line{{dot, t.Waiting}, {"still reading", t.Waiting}}
	}
	return nil
}

// empty explains why the table is empty.
func (s *Screen) empty(width int) []string {
	t := s.Theme()
	text, more := s.emptyWords()
	lines := widget.Wordy(t, width, text, more)
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Render(width, t.Glyphs.Ellipsis, nil)
	}
	return out
}

func (s *Screen) emptyWords() (text, more string) {
	scanned, busy := screen.Scanned(s)
	down := backendsDown(s.Snapshot())
	switch {
	case s.Busy:
		return fmt.Sprintf("Sorting %s%s", describe.Count(s.Snapshot().Len(), "lock"),
			s.Theme().Glyphs.Ellipsis), "They appear in a moment."
	case s.input.Problem() != "":
		return "This filter is invalid.", s.input.Problem()
	case len(s.Index.Rows) > 0:
		return "No lock matches the filter.", "esc shows all of them."
	case s.FeedError() != nil:
		return "Nothing can be shown.", describe.OneLine(s.FeedError())
	case len(s.Snapshot().Backends) == 0:
		return "Connecting" + s.Theme().Glyphs.Ellipsis, "No server has answered yet."
	case busy:
		return "No locks so far.", fmt.Sprintf("Still scanning: %d directories and keys so far.", scanned)
	case unreachable(s.Snapshot()):
		return "Unknown: no backend can be reached.", "There may be locks; the errors are above."
	case down == 0 && blindSomewhere(s):
		return "No locks that we can see.",
			fmt.Sprintf("Some could not be read: f says which, and why. %d scanned.", scanned)
	case down > 0:
		return "No locks found in the parts that could be read.",
			fmt.Sprintf("%d scanned; a backend is down, see above.", scanned)
	default:
		return "No locks.", fmt.Sprintf("Found no lock under these roots and patterns; %d scanned.%s", scanned,
			sought(s))
	}
}

// backendsDown counts the backends that are down.
func backendsDown(s *inspect.Snapshot) int {
	return each.Count(s.Backends, func(b *inspect.Backend) bool { return b.State == inspect.Down })
}

// unreachable reports whether all backends are down.
func unreachable(s *inspect.Snapshot) bool {
	return len(s.Backends) > 0 && backendsDown(s) == len(s.Backends)
}

// sought says, for each backend, what we looked for.
func sought(host screen.Context) (text string) {
	for _, b := range host.Snapshot().Backends {
		if words := describe.Sought(b); words != "" {
			text += fmt.Sprintf(" %s: %s.", b.Name, words)
		}
	}
	return text
}

// grid is the table's layout: the columns, their widths (0 if they do not fit) and the table's.
type grid struct {
	columns []widget.Column
	widths  []int
	width   int
}

// grid lays out the table and marks the sorted column.
func (s *Screen) grid() grid {
	width := s.tableWidth()
	list, widths := s.shown.layout(width-widget.Margin-1, s.needs)
	o := s.Want.Order
	mark := s.Theme().Glyphs.Up
	if o.column().descends != o.reversed {
		mark = s.Theme().Glyphs.Down
	}
	if at := slices.Index(s.shown.columns, o.column()); at >= 0 {
		list[at].Title += " " + mark
	}
	return grid{list, widths, width}
}

// columnAt is the column whose title is at x; nil for none.
func (s *Screen) columnAt(x int) *column {
	if at := widget.ColumnAt(s.grid().widths, x-widget.Margin); at >= 0 {
		return s.shown.columns[at]
	}
	return nil
}

func (s *Screen) header(g grid) string {
	l := append(widget.Line{{"   ", s.Theme().Header}}, widget.Titles(g.columns, g.widths, s.Theme().Header)...)
	return l.Render(g.width, s.Theme().Glyphs.Ellipsis, nil)
}

// cachedRow is a drawn row with its inputs.
type cachedRow struct {
	drawn  string
	inputs rowInputs
}

// rowInputs has everything that a drawn row depends on.
type rowInputs struct {
	lock                    *inspect.Lock
	theme                   *theme.Theme
	backend                 *inspect.Backend
	now                     time.Time
	width                   int
	needs                   needs
	selected, inside, fresh bool
	marked, inChain         bool
	unmatched               bool // the filter hides it once the cursor leaves
	matched                 *inspect.Contender
}

// rowView draws a row, or returns the previous drawing if nothing has changed: most rows stay the
// same between two ticks of the clock.
func (s *Screen) rowView(e tableLine, g grid, selected bool) string {
	l := s.Snapshot().Lock(e.Row.ID)
	if l == nil { // until the locks are arranged again
		return goneRow(s, e.Row.ID, g.width, selected)
	}
	in := rowInputs{
		l, s.Theme(), s.Snapshot().Backend(l.ID.Backend), s.Now(), g.width, s.needs, selected, e.inside,
		justGranted(s, l), s.marks[l.ID], s.keysInChain(), !e.Row.shown, s.matches[l.ID],
	}
	if before, ok := s.cachedRows[l.ID]; ok && before.inputs == in {
		return before.drawn
	}
	if len(s.cachedRows) > 4*s.rows() {
		clear(s.cachedRows)
	}
	drawn := s.drawRow(l, in, g)
	s.cachedRows[l.ID] = cachedRow{drawn, in}
	return drawn
}

// goneRow is the row of a lock that the snapshot lacks.
func goneRow(s screen.Context, id inspect.ID, width int, selected bool) string {
	t, text := s.Theme(), " is gone"
	if b := s.Snapshot().Backend(id.Backend); b == nil || !b.FirstPass {
		text = " has not been read yet"
	} else if s.Past() {
		text = " was not known then"
	}
	l := widget.Line{{"   ", t.Text}, {id.String() + text, t.Faint}}
	if selected {
		return l.Render(width, t.Glyphs.Ellipsis, t.Selected)
	}
	return l.Render(width, t.Glyphs.Ellipsis, nil)
}

func (s *Screen) drawRow(lock *inspect.Lock, in rowInputs, g grid) string {
	t := s.Theme()
	of := cellOf(s, lock)
	of.matched = in.matched
	if in.inside {
		of.group = prefixOf(lock.ID).Path
	}
	l := widget.Line{{" ", t.Text}, rowSign(of), {" ", t.Text}}
	cells := s.shown.drawCells(of, g.widths)
	if at := slices.Index(s.shown.columns, byHolder); in.fresh && at >= 0 {
		cells[at].Restyle(t.Fresh)
	}
	if of.old || in.unmatched {
		for _, c := range cells {
			c.Restyle(func(theme.Style) theme.Style { return t.Unknown })
		}
	}
	var over func(theme.Style) theme.Style
	if in.marked {
		l[2] = widget.Span{"+", t.Waiting}
	}
	if in.selected {
		l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
		over = widget.SelectedStyle(t, !in.inChain)
	}
	l = append(l, widget.Join(g.columns, g.widths, cells, t.Glyphs.Ellipsis)...)
	return l.Render(g.width, t.Glyphs.Ellipsis, over)
}

// rowSign is the glyph of a lock's state. If its backend has been lost since the reading, the
// state is unknown.
func rowSign(c cell) widget.Span {
	if c.old {
		return widget.Span{c.Theme().Glyphs.Unknown, c.Theme().Unknown}
	}
	return screen.Sign(c.Theme(), c.lock)
}

// justGranted reports whether a lock has just changed hands.
func justGranted(s screen.Context, l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Holders, func(c inspect.Contender) bool { return s.JustGranted(l.ID, c.Name) })
}

// blindSomewhere reports whether a backend has places that could not be searched.
func blindSomewhere(host screen.Context) bool {
	return slices.ContainsFunc(host.Snapshot().Backends, func(b *inspect.Backend) bool {
		return b.Unknown(inspect.AspectLocks)
	})
}
