package theme

import (
	"math"
	"strings"
)

// Bar returns a bar for n of most, in at most width cells. It has at least one cell unless n is 0.
func (t *Theme) Bar(n, most, width int) string {
	if n <= 0 || most <= 0 || width <= 0 {
		return ""
	}
	cells := int(math.Round(float64(n) / float64(most) * float64(width)))
	return strings.Repeat(t.Glyphs.Bar, min(width, max(1, cells)))
}

// Gauge returns a bar that runs down, as its full part and the rest, in width cells altogether.
// fraction is the part that is left, 0 to 1. It moves by half cells if there is a glyph for them.
func (t *Theme) Gauge(fraction float64, width int) (full, rest string) {
	g := t.Glyphs
	width = max(0, width)
	halves := int(math.Ceil(min(1, max(0, fraction)) * float64(width) * 2))
	cells := halves / 2
	full = strings.Repeat(g.BarFull, cells)
	if halves%2 > 0 {
		full += g.BarHalf
		cells++
	}
	return full, strings.Repeat(g.BarRest, width-cells)
}
