package theme

import (
	"math"
	"strings"
)

// Small plots drawn in a row of text. They keep their shape without colours and in ASCII, and change few cells a tick.
// The chart libraries for terminals draw in braille and colour.

// Spark returns one cell of a plot one row high: blank for 0, and at least the lowest glyph for
// more.
func (t *Theme) Spark(value, most float64) string {
	steps := t.Glyphs.Steps
	if value <= 0 || most <= 0 {
		return " "
	}
	at := int(math.Ceil(min(1, value/most)*float64(len(steps)))) - 1
	return steps[max(0, at)]
}

// Sparks returns a row of cells, one for each value. Values below 0 are unknown.
func (t *Theme) Sparks(values []float64, most float64) string {
	var b strings.Builder
	for _, v := range values {
		if v < 0 {
			b.WriteString(t.Glyphs.Lane.Unclear)
		} else {
			b.WriteString(t.Spark(v, most))
		}
	}
	return b.String()
}

// Pillar returns a vertical bar, one cell per row, from the top down. Its height is to rows as
// value is to most.
func (t *Theme) Pillar(value, most float64, rows int) []string {
	cells := make([]string, rows)
	height := 0.0
	if most > 0 {
		height = max(0, value/most) * float64(rows)
	}
	for i := range cells {
		full := height - float64(rows-1-i)
		if i == rows-1 && value > 0 {
			full = max(full, 0.01) // small values stay visible
		}
		cells[i] = t.Spark(full, 1)
	}
	return cells
}
