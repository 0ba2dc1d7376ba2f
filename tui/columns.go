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

// never is the width from which a column is shown that is not.
const never = 1 << 30

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

// columnAt is the column at x cells from the table's start; -1 where there is none.
func columnAt(widths []int, x int) int {
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if x < w+gap {
			if x < 0 {
				return -1
			}
			return i
		}
		x -= w + gap
	}
	return -1
}

// join puts cells into their columns. A cell that is too wide runs on where the cell after it is empty.
func join(columns []column, widths []int, cells []line, tail string) line {
	out := make(line, 0, 4*len(cells)) // a span is large: growing would copy them again and again
	for i := 0; i < len(cells); i++ {
		c, width, column := cells[i], widths[i], columns[i]
		if width == 0 {
			continue
		}
		if next := i + 1; next < len(cells) && !column.right && c.width() > width && len(cells[next]) == 0 && widths[next] > 0 {
			width += gap + widths[next]
			i = next
		}
		if len(out) > 0 {
			out = out.add(lipgloss.NewStyle(), "  ")
		}
		if column.middle {
			c = c.squeeze(width, tail)
		}
		c = c.cut(width, tail)
		blank := blanks(width - c.width())
		if column.right && blank != "" {
			out = append(out, span{text: blank})
		}
		if out = append(out, c...); !column.right && blank != "" {
			out = append(out, span{text: blank})
		}
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

// margin is left of the first column: the cursor, the sign and two blanks.
const margin = 3
