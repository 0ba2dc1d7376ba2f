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

// Gauge is a bar that runs down, width cells in all with its walls: the part that is left and, drawn in Track, the part
// that is gone. fraction is what is left, 0 to 1. With colours it moves by eighths of a cell, edge being the last of
// full; without, by cells.
func (t *Theme) Gauge(fraction float64, width int) (wall, full, edge, rest, end string) {
	g, inner := t.Glyphs, max(0, width-2)
	eighths := int(math.Ceil(min(1, max(0, fraction)) * float64(inner) * 8))
	cells, part := eighths/8, eighths%8
	used := cells
	switch {
	case part == 0:
	case t.Options.NoColor || len(g.BarParts) == 0:
		cells++
		used++
	default:
		edge = g.BarParts[part-1]
		used++
	}
	blank := " "
	if t.Options.NoColor || t.Options.ASCII {
		blank = g.BarRest
	}
	return g.BarLeft, strings.Repeat(g.BarFull, cells), edge, strings.Repeat(blank, inner-used), g.BarRight
}
