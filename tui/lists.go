package tui

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"lockscope/theme"
)

// sheet draws lines, exactly as many as the height.
func sheet(t *theme.Theme, lines []line, width, height int) string {
	out := make([]string, height)
	for i := range out {
		if i < len(lines) {
			out[i] = lines[i].render(width, t.Glyphs.Ellipsis, nil)
		} else {
			out[i] = strings.Repeat(" ", width)
		}
	}
	return strings.Join(out, "\n")
}

// rowsAbove is how many of n rows a list shows above the details of the selected one, of the lines that both have. It does
// not depend on what is selected, so that nothing jumps.
func rowsAbove(n, lines int) int {
	details := max(9, min(14, lines*2/5))
	return max(1, min(n, max(4, lines-details)))
}

// selectedStyle marks the selected row of the pane that the keys move in; in the other one its cursor does.
func selectedStyle(t *theme.Theme, here bool) func(lipgloss.Style) lipgloss.Style {
	if here {
		return t.Selected
	}
	return nil
}

// keepRight puts right at the end of a line; where both do not fit, left is cut.
func keepRight(left, right line, width int, tail string) line {
	if len(right) == 0 {
		return left
	}
	return spread(left.cut(max(1, width-right.width()-1), tail), right, width, tail)
}

// more writes over the ends of the first and last row of a list how many there are before and after them.
func more(t *theme.Theme, rows []line, top, all, width int) {
	put := func(at int, mark string, n int) {
		if n > 0 {
			note := line{{fmt.Sprintf(" %s %d more ", mark, n), t.Badge}}
			rows[at] = append(rows[at].align(width-1-note.width(), false, t.Glyphs.Ellipsis), note...)
		}
	}
	if len(rows) > 0 {
		put(len(rows)-1, t.Glyphs.Down, all-top-len(rows))
		put(0, t.Glyphs.Up, top)
	}
}

// around is the first of n lanes to show so that the one at some place is in the middle.
func around(at, n, room int) int { return max(0, min(at-room/2, n-room)) }

// filled is exactly n lines.
func filled(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:max(1, n)]
}

// deepest is where the tree stops to lean to the right: a queue of a hundred stays readable.
const deepest = 5
