package widget

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/theme"
)

// Sheet draws exactly as many lines as the height.
func Sheet(t *theme.Theme, lines []Line, width, height int) string {
	out := make([]string, height)
	for i := range out {
		if i < len(lines) {
			out[i] = lines[i].Render(width, t.Glyphs.Ellipsis, nil)
		} else {
			out[i] = strings.Repeat(" ", width)
		}
	}
	return strings.Join(out, "\n")
}

// RowsAbove returns how many of n rows a list shows above the details of the selected one, within
// the given lines. It does not depend on the selection, so that nothing jumps.
func RowsAbove(n, lines int) int {
	details := max(9, min(14, lines*2/5))
	return max(1, min(n, max(4, lines-details)))
}

// SelectedStyle marks the selected row of the focused pane. In other panes the cursor marks it.
func SelectedStyle(t *theme.Theme, here bool) func(theme.Style) theme.Style {
	if here {
		return t.Selected
	}
	return nil
}

// KeepRight puts right at the end of a line. If both do not fit, left is cut.
func KeepRight(left, right Line, width int, tail string) Line {
	if len(right) == 0 {
		return left
	}
	return Spread(left.Cut(max(1, width-right.Width()-Gap), tail), right, width, tail)
}

// Whole drops the last parts of a summary that do not fit, each with the preceding dot.
func Whole(l Line, width int) Line {
	for len(l) > 2 && l.Width() > width {
		l = l[:len(l)-2]
	}
	return l
}

// More writes the numbers of hidden rows over the ends of a list's first and last rows.
func More(t *theme.Theme, rows []Line, top, all, width int) {
	overlay := func(at int, mark string, n int) {
		if n > 0 {
			note := Line{{fmt.Sprintf(" %s %d more ", mark, n), t.Badge}}
			rows[at] = append(rows[at].Align(width-1-note.Width(), false, t.Glyphs.Ellipsis), note...)
		}
	}
	if len(rows) > 0 {
		overlay(len(rows)-1, t.Glyphs.Down, all-top-len(rows))
		overlay(0, t.Glyphs.Up, top)
	}
}

// Filled returns exactly n lines.
func Filled(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines[:max(1, n)]
}

// Deepest is the depth beyond which a tree stops indenting, so that a queue of a hundred stays
// readable.
const Deepest = 5
