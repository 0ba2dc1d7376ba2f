package theme

import (
	"math"
	"strings"
)

// Bar is a bar of n of most in at most width cells: at least one cell when n is not 0.
func (t *Theme) Bar(n, most, width int) string {
	if n <= 0 || most <= 0 || width <= 0 {
		return ""
	}
	cells := int(math.Round(float64(n) / float64(most) * float64(width)))
	return strings.Repeat(t.Glyphs.Bar, min(width, max(1, cells)))
}

// Gauge is a bar that runs down: the part that is left, the part that is gone, with walls, width cells in all.
// fraction is what is left, 0 to 1. full and rest are given separately, so that they can be styled.
func (t *Theme) Gauge(fraction float64, width int) (full, rest string) {
	inner := max(0, width-2)
	eighths := int(math.Ceil(min(1, max(0, fraction)) * float64(inner) * 8))
	cells, part := eighths/8, eighths%8
	g := t.Glyphs
	full = g.BarLeft + strings.Repeat(g.BarFull, cells)
	used := cells
	if part > 0 {
		used++
		if len(g.BarParts) > 0 {
			full += g.BarParts[part-1]
		} else {
			full += g.BarFull
		}
	}
	return full, strings.Repeat(g.BarRest, inner-used) + g.BarRight
}
