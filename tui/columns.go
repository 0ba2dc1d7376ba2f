package tui

import (
	"strings"

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

// lockColumns are those of a table of some width. A finding, whose longest name takes 20 cells, says more than a gauge, a
// kind or a library: they go first.
func lockColumns(width int) []column {
	lock, ttl, finding := 19, bareTTL, 12
	if width >= 84 {
		lock, finding = 20, 19
	}
	if width >= 96 {
		ttl, finding = gaugeTTL, 20
	}
	return []column{
		{title: "LOCK", middle: true, width: lock, grow: 5, most: 60},
		{title: "KIND", width: 9, from: 108},
		{title: "LIBRARY", width: 12, grow: 1, most: 18, from: 126},
		{title: "HOLDER", middle: true, width: 14, grow: 4, most: 44},
		{title: "HELD", width: 7, right: true},
		{title: "QUEUE", width: queueWidth},
		{title: "TTL", width: ttl, right: true},
		{title: "FINDING", width: finding, grow: 2, most: 24},
	}
}

// How wide TTL is without and with a gauge.
const bareTTL, gaugeTTL = 6, 11

// list is the cells in the order of the columns. The holder's client is added where there is room for all of it.
func (c *lockCells) list(widths []int) []line {
	if holder := append(c.holder[:len(c.holder):len(c.holder)], c.client...); holder.width() <= widths[holderColumn] {
		c.holder = holder
	}
	if n := len(c.ttl); c.ttl.width() > widths[ttlColumn] {
		c.ttl = line{{strings.TrimSpace(c.ttl[n-1].text), c.ttl[n-1].style}}
	}
	if len(c.finding) > 0 && len(c.old) > 0 {
		c.old = append(append(c.finding[:len(c.finding):len(c.finding)], span{text: "  "}), c.old...)
	}
	if len(c.finding) == 0 || len(c.old) > 0 && c.old.width() <= widths[findingColumn] {
		c.finding = c.old
	}
	return []line{c.lock, c.kind, c.library, c.holder, c.held, c.queue, c.ttl, c.finding}
}

// The places of HOLDER, TTL and FINDING in the columns.
const holderColumn, ttlColumn, findingColumn = 3, 6, 7

// margin is left of the first column: the cursor, the sign and two blanks.
const margin = 3
