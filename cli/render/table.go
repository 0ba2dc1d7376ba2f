// Package render turns observations into text: tables and CSV, one lock, a diagnosis, events and
// graphs.
package render

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/internal/each"
)

// table is text in aligned columns.
type table struct {
	columns []column
	rows    [][]string // a cell for each column
}

// column sets how the cells below a head are aligned, and cut when a line is too wide.
type column struct {
	head  string
	right bool
	// worth is 0 for a column that always stays. Of the others, those with the lowest worth are
	// left out first.
	worth int
	// least is the minimum width, in cells, to which it may be cut; 0 means that it is never cut.
	least int
}

const gap = "  "

// mostCell limits a cell when lines have no limit. A key may be ten megabytes long, and every row
// is as wide as the widest.
const mostCell = 2048

// render writes the table at most width cells wide; 0 is without limit.
func (t table) render(width int) string {
	widths := t.fit(width)
	heads := each.Of(t.columns, func(c column) string { return c.head })
	var b strings.Builder
	for _, row := range append([][]string{heads}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			cell = ansi.Truncate(cell, widths[i], "…")
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if t.columns[i].right {
				cell = pad + cell
			} else {
				cell += pad
			}
			line.WriteString(cell + gap)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// fit returns the width of each column, in cells, or 0 if it is left out.
func (t table) fit(width int) []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = ansi.StringWidth(c.head)
		for _, row := range t.rows {
			widths[i] = min(max(widths[i], ansi.StringWidth(row[i])), mostCell)
		}
	}
	if width <= 0 {
		return widths
	}
	for t.total(widths, true) > width {
		cheapest := -1
		for i, c := range t.columns {
			if widths[i] > 0 && c.worth > 0 && (cheapest < 0 || c.worth < t.columns[cheapest].worth) {
				cheapest = i
			}
		}
		if cheapest < 0 {
			break
		}
		widths[cheapest] = 0
	}
	for over := t.total(widths, false) - width; over > 0; { // the widest gives way first
		widest := -1
		for i, c := range t.columns {
			if c.least > 0 && widths[i] > c.least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		over--
	}
	return widths
}

// total returns the width of a line, in cells. With cut, each column that may be cut has its
// minimum width.
func (t table) total(widths []int, cut bool) int {
	total := -len(gap)
	for i, w := range widths {
		if w == 0 {
			continue
		}
		if least := t.columns[i].least; cut && least > 0 {
			w = min(w, least)
		}
		total += w + len(gap)
	}
	return total
}
