package widget

import "github.com/lockscope/lockscope/theme"

// Column is one column of a table.
type Column struct {
	Title string
	Right bool
	// Middle cuts text that is too wide in its middle rather than at its end.
	Middle bool
	// Domain is dropped from host names in text that is too wide or, with Brief, from all of them.
	Domain string
	Brief  bool
	// Width is the least width, in cells; Grow is the column's share of the remaining room; Most
	// bounds it.
	Width, Grow, Most int
	// From is the minimum width of the table for the column to appear.
	From int
}

// sortMark is the width of the arrow next to the sorted title, in cells.
const sortMark = 2

// Fit makes room for the cells if their width is known (not 0) and fits.
func (c *Column) Fit(need int) {
	if need == 0 {
		return
	}
	c.Most = max(need, len(c.Title)+sortMark)
	c.Width = min(c.Width, c.Most)
}

// InFull gives the columns at these indexes all the room they need before others grow; false if
// there is not enough.
func InFull(columns []Column, width int, at ...int) bool {
	room := left(columns, width)
	for _, i := range at {
		if width >= columns[i].From {
			room -= max(0, columns[i].Most-columns[i].Width)
		}
	}
	for _, i := range at {
		if room >= 0 {
			columns[i].Width = max(columns[i].Width, columns[i].Most)
		}
	}
	return room >= 0
}

// Widen gives a column all room that the others leave at their minimum widths.
func Widen(columns []Column, width, at int) {
	c := &columns[at]
	c.Width += max(0, min(left(columns, width), c.Most-c.Width))
}

// left is the room that columns leave at their minimum widths.
func left(columns []Column, width int) int {
	room := width + Gap
	for _, c := range columns {
		if width >= c.From {
			room -= c.Width + Gap
		}
	}
	return room
}

// Never is the From of a column that is never shown.
const Never = 1 << 30

// Lay returns the widths of the columns in a table of the given width; hidden columns get 0. A
// gap of two cells precedes every column but the first.
func Lay(columns []Column, width int) []int {
	widths := make([]int, len(columns))
	room, grow := width, 0
	for i, c := range columns {
		if width < c.From {
			continue
		}
		widths[i] = c.Width
		room -= c.Width + Gap
		grow += c.Grow
	}
	room += Gap
	// In a compact window, the last columns are dropped and leave their room to the others.
	for i := len(columns) - 1; i > 0 && room < 0; i-- {
		if widths[i] > 0 {
			if rest := widths[i] + room; rest >= leastCut {
				widths[i], room = rest, 0
				break
			}
			room += widths[i] + Gap
			grow -= columns[i].Grow
			widths[i] = 0
		}
	}
	for pass := 0; pass < 3 && room > 0 && grow > 0; pass++ {
		given := 0
		next := 0
		for i, c := range columns {
			if widths[i] == 0 || c.Grow == 0 || widths[i] >= c.Most {
				continue
			}
			more := min(room*c.Grow/grow, c.Most-widths[i])
			widths[i] += more
			given += more
			if widths[i] < c.Most {
				next += c.Grow
			}
		}
		room, grow = room-given, next
	}
	return widths
}

// leastCut is the minimum width, in cells, at which cut text is still useful.
const leastCut = 8

// Gap is the width between two columns.
const Gap = 2

// ColumnAt is the index of the column at x cells from the table's start; -1 without one.
func ColumnAt(widths []int, x int) int {
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if x < w+Gap {
			if x < 0 {
				return -1
			}
			return i
		}
		x -= w + Gap
	}
	return -1
}

// Join puts cells into their columns. A cell that is too wide overflows if the next cell is
// empty.
func Join(columns []Column, widths []int, row []Line, tail string) Line {
	out := make(Line, 0, 4*len(row)) // a span is large: growing would copy them repeatedly
	for i := 0; i < len(row); i++ {
		c, width, column := row[i], widths[i], columns[i]
		if width == 0 {
			continue
		}
		next := i + 1
		empty := next < len(row) && len(row[next]) == 0 && widths[next] > 0
		if empty && !column.Right && c.Width() > width {
			width += Gap + widths[next]
			i = next
		}
		if len(out) > 0 {
			out = out.Add(theme.Style{}, "  ")
		}
		if column.Brief {
			c = c.LeaveOut(column.Domain, 0)
		}
		c = c.LeaveOut(column.Domain, width)
		if column.Middle {
			c = c.Squeeze(width, tail)
		}
		c = c.Cut(width, tail)
		blank := Blanks(width - c.Width())
		if column.Right && blank != "" {
			out = append(out, Span{Text: blank})
		}
		if out = append(out, c...); !column.Right && blank != "" {
			out = append(out, Span{Text: blank})
		}
	}
	return out
}

// Titles is the header of a table.
func Titles(columns []Column, widths []int, style theme.Style) Line {
	row := make([]Line, len(columns))
	for i, c := range columns {
		row[i] = Line{{c.Title, style}}
	}
	return Join(columns, widths, row, "")
}

// Margin is the width before the first column: the cursor, the sign and two blanks.
const Margin = 3
