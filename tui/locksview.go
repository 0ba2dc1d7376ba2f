package tui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/theme"
)

func (s *locks) View() string {
	width := s.tableWidth()
	tail := s.Theme().Glyphs.Ellipsis
	table := []string{s.header(width)}
	lines := s.visible()
	for i, e := range lines {
		selected := s.top+i == s.cursor
		if e.group != nil {
			table = append(table, s.groupView(e.group, width, selected))
		} else {
			table = append(table, s.rowView(e, width, selected))
		}
	}
	if len(lines) == 0 {
		table = append(table, s.empty(width)...)
	}
	for len(table) < s.height-1 {
		table = append(table, "")
	}
	body := strings.Join(table[:max(1, s.height-1)], "\n")
	if s.wide() {
		wall := strings.TrimSuffix(strings.Repeat(s.Theme().Faint.Render(" "+s.Theme().Glyphs.Wall+" ")+"\n", s.height-1), "\n")
		body = lipgloss.JoinHorizontal(lipgloss.Top, lipgloss.NewStyle().Width(width).Render(body), wall, s.beside.View())
	}
	return s.summary().render(s.width, tail, nil) + "\n" + body
}

// summary counts the locks and says how they are sorted and filtered; while somebody types a filter that comes first.
func (s *locks) summary() line {
	t, x, tail := s.Theme(), s.index, s.Theme().Glyphs.Ellipsis
	dot := " " + t.Glyphs.Dot + " "
	if s.input.open || s.input.problem() != "" {
		found, words := s.found(), s.input.bar(t, "words, or: "+fieldNames)
		if s.input.problem() != "" && words.width()+found.width() >= s.width {
			found = nil // what is wrong comes first
		}
		words = words.cut(max(0, s.width-found.width()-1), tail)
		return spread(words, found, s.width, tail)
	}
	left := line{{" " + describe.Count(len(x.rows), "lock"), t.Strong}}
	if !x.filter.empty() {
		left = append(line{{" ", t.Text}}, s.found()...)
	}
	left = left.add(t.Muted, fmt.Sprintf("%s%d contended", dot, x.contended))
	if x.critical > 0 {
		left = left.add(t.Muted, dot).add(t.Critical, fmt.Sprintf("%s %d critical", t.Glyphs.Critical, x.critical))
	}
	if x.warnings > 0 {
		left = left.add(t.Muted, dot).add(t.Warning, t.Glyphs.Warning+" "+describe.Count(x.warnings, "warning"))
	}
	left = append(left, s.looking()...)
	right := line{{"sort: ", t.Muted}, {s.want.order.String() + " ", t.Text}}
	if s.busy {
		right = line{{"sorting" + tail + " ", t.Waiting}}
	}
	if l := s.input.view(t); l != nil {
		right = l
	}
	return spread(left, right, s.width, tail)
}

// found counts the locks that the filter lets through.
func (s *locks) found() line {
	if s.busy {
		return line{{"filtering" + s.Theme().Glyphs.Ellipsis + " ", s.Theme().Waiting}}
	}
	return line{{fmt.Sprintf("%d of %s", s.index.shown, describe.Count(len(s.index.rows), "lock")), s.Theme().Strong}}
}

// looking says how far the first look around is.
func (s *locks) looking() line {
	scanned, busy := scanned(s)
	if !busy {
		return nil
	}
	return line{{fmt.Sprintf(" %s still looking, %d scanned", s.Theme().Glyphs.Dot, scanned), s.Theme().Waiting}}
}

// empty says why there is nothing to see.
func (s *locks) empty(width int) []string {
	t := s.Theme()
	text, more := s.emptyWords()
	lines := []line{nil, {{"   " + text, t.Text}}, {{"   " + more, t.Muted}}}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.render(width, t.Glyphs.Ellipsis, nil)
	}
	return out
}

func (s *locks) emptyWords() (text, more string) {
	scanned, busy := scanned(s)
	down := 0
	for _, b := range s.Snapshot().Backends {
		if b.State == inspect.Down {
			down++
		}
	}
	switch {
	case s.busy:
		return fmt.Sprintf("Sorting %s%s", describe.Count(s.Snapshot().Len(), "lock"), s.Theme().Glyphs.Ellipsis), "They are here in a moment."
	case len(s.index.rows) > 0:
		return "No lock matches the filter.", "esc shows all of them."
	case s.FeedError() != nil:
		return "Nothing can be shown.", describe.Printable(s.FeedError().Error())
	case len(s.Snapshot().Backends) == 0:
		return "Connecting" + s.Theme().Glyphs.Ellipsis, "No server has answered yet."
	case busy:
		return "No locks so far.", fmt.Sprintf("Still looking: %d directories and keys scanned.", scanned)
	case down == len(s.Snapshot().Backends):
		return "Unknown: no backend can be reached.", "This does not say that there are no locks; the errors are above."
	case down > 0:
		return "No locks where we could look.", fmt.Sprintf("%d scanned; a backend is down, see above.", scanned)
	default:
		return "No locks.", fmt.Sprintf("Nothing under these roots and patterns is a lock; %d scanned.", scanned)
	}
}

// columns are those of the table, the one that it is sorted by marked, and their widths.
func (s *locks) columns() ([]column, []int) {
	width := s.tableWidth() - margin - 1
	columns := lockColumns(width)
	o := s.want.order
	mark := s.Theme().Glyphs.Up
	if o.by.descends() != o.reversed {
		mark = s.Theme().Glyphs.Down
	}
	columns[o.by].title += " " + mark
	return columns, lay(columns, width)
}

// sortingAt is the column whose title is at x.
func (s *locks) sortingAt(x int) (sorting, bool) {
	_, widths := s.columns()
	at := columnAt(widths, x-margin)
	return sorting(at), at >= 0
}

func (s *locks) header(width int) string {
	columns, widths := s.columns()
	l := append(line{{"   ", s.Theme().Header}}, titles(columns, widths, s.Theme().Header)...)
	return l.render(width, s.Theme().Glyphs.Ellipsis, nil)
}

// image is a row as it was drawn, and from what.
type image struct {
	drawn  string
	row    *row
	inputs imageInputs
}

// imageInputs is all, besides its lock, that a row is drawn from.
type imageInputs struct {
	theme                   *theme.Theme
	backend                 *inspect.Backend
	now                     time.Time
	width                   int
	span                    time.Duration
	selected, inside, fresh bool
}

// rowView draws a row, or takes what was drawn of it before where nothing is different: between two beats of the clock
// most rows are the same.
func (s *locks) rowView(e tableLine, width int, selected bool) string {
	l := e.row.lock
	in := imageInputs{
		s.Theme(), s.Snapshot().Backend(l.ID.Backend), s.Now(), width, s.spans.of(l), selected, e.inside, s.highlight(e.row) != nil,
	}
	if before, ok := s.images[l.ID]; ok && before.row == e.row && before.inputs == in {
		return before.drawn
	}
	if len(s.images) > 4*s.rows() {
		clear(s.images)
	}
	drawn := s.drawRow(e, width, selected)
	s.images[l.ID] = image{drawn, e.row, in}
	return drawn
}

func (s *locks) drawRow(e tableLine, width int, selected bool) string {
	t, r := s.Theme(), e.row
	c := cellsOf(s, r.lock, s.spans.of(r.lock))
	if e.inside {
		c.lock = line{{"  ", t.Muted}, {inspect.Escape(r.lock.ID.Path[len(prefixOf(r.lock.ID).path):]), t.Text}}
	}
	columns := lockColumns(width - margin - 1)
	l := line{{" ", t.Text}, c.mark, {" ", t.Text}}
	over := s.highlight(r)
	if selected {
		l[0] = span{t.Glyphs.Cursor, t.Holding}
		over = t.Selected
	}
	widths := lay(columns, width-margin-1)
	l = append(l, join(columns, widths, c.list(widths), t.Glyphs.Ellipsis)...)
	return l.render(width, t.Glyphs.Ellipsis, over)
}

// highlight makes a row stand out whose lock has just changed hands.
func (s *locks) highlight(r *row) func(lipgloss.Style) lipgloss.Style {
	for i := range r.lock.Holders {
		if s.JustGranted(r.lock.ID, r.lock.Holders[i].Name) {
			return s.Theme().Fresh
		}
	}
	return nil
}
