package tui

import (
	"charm.land/lipgloss/v2"
)

// column is one column of a table.
type column struct {
	title string
	right bool
	// middle cuts what is too wide in its middle rather than at its end.
	middle bool
	// width is the least; grow says how much of the room that is left over goes to it; most is where it stops.
	width, grow, most int
	// from is the table's width from which it is shown at all.
	from int
}

// lay gives the columns that are shown in a table of some width their widths; the others get 0. A gap of two cells
// goes before every column but the first.
func lay(columns []column, width int) []int {
	widths := make([]int, len(columns))
	room, grow := width, 0
	for i, c := range columns {
		if width < c.from {
			continue
		}
		widths[i] = c.width
		room -= c.width + gap
		grow += c.grow
	}
	room += gap
	for pass := 0; pass < 3 && room > 0 && grow > 0; pass++ {
		given := 0
		next := 0
		for i, c := range columns {
			if widths[i] == 0 || c.grow == 0 || widths[i] >= c.most {
				continue
			}
			more := min(room*c.grow/grow, c.most-widths[i])
			widths[i] += more
			given += more
			if widths[i] < c.most {
				next += c.grow
			}
		}
		room, grow = room-given, next
	}
	return widths
}

// gap is between two columns.
const gap = 2

// join puts cells into their columns.
func join(columns []column, widths []int, cells []line, tail string) line {
	var out line
	for i, c := range cells {
		if widths[i] == 0 {
			continue
		}
		if len(out) > 0 {
			out = out.add(lipgloss.NewStyle(), "  ")
		}
		if columns[i].middle {
			c = c.squeeze(widths[i], tail)
		}
		out = append(out, c.align(widths[i], columns[i].right, tail)...)
	}
	return out
}

// titles is the header of a table.
func titles(columns []column, widths []int, style lipgloss.Style) line {
	cells := make([]line, len(columns))
	for i, c := range columns {
		cells[i] = line{{c.title, style}}
	}
	return join(columns, widths, cells, "")
}

func lockColumns() []column {
	return []column{
		{title: "LOCK", middle: true, width: 20, grow: 5, most: 60},
		{title: "KIND", width: 9, from: 104},
		{title: "LIBRARY", width: 12, grow: 1, most: 18, from: 104},
		{title: "HOLDER", middle: true, width: 14, grow: 4, most: 44},
		{title: "HELD", width: 7, right: true},
		{title: "QUEUE", width: 9},
		{title: "TTL", width: 11, right: true},
		{title: "FINDING", width: 12, grow: 2, most: 24, from: 90},
	}
}

// list is the cells in the order of the columns. The holder's client is added where there is room for all of it.
func (c *lockCells) list(widths []int) []line {
	if holder := append(c.holder[:len(c.holder):len(c.holder)], c.client...); holder.width() <= widths[holderColumn] {
		c.holder = holder
	}
	return []line{c.lock, c.kind, c.library, c.holder, c.held, c.queue, c.ttl, c.finding}
}

// holderColumn is the place of HOLDER in the columns.
const holderColumn = 3

// margin is left of the first column: the cursor, the sign and two blanks.
const margin = 3

func (s *locks) header(width int) string {
	columns := lockColumns()
	l := line{{"   ", s.theme.Header}}
	l = append(l, titles(columns, lay(columns, width-margin-1), s.theme.Header)...)
	return l.render(width, s.theme.Glyphs.Ellipsis, nil)
}

func (s *locks) rowView(r *row, width int, selected bool) string {
	t := s.theme
	c := s.cells(r.lock, r.span)
	columns := lockColumns()
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
		if s.history.freshGrant(r.lock.ID, r.lock.Holders[i].Name, s.now) {
			return s.theme.Fresh
		}
	}
	return nil
}
