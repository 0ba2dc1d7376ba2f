package screen

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/widget"
)

// A trend is drawn in at most TrendCells cells of TrendStep each.
const (
	TrendStep  = 30 * time.Second
	TrendCells = 30
)

// leastScale is the shortest queue that is drawn at full height.
const leastScale = 4

// Peak is the longest queue of a trend, including the present one, in words; empty without waiters.
func Peak(trend inspect.Trend, cells, present int) string {
	waiting := trend.Waiting[max(0, len(trend.Waiting)-cells):]
	if most := max(present, int(math.Ceil(slices.Max(append(slices.Clip(waiting), 0))))); most > 0 {
		return fmt.Sprintf(", max %d", most)
	}
	return ""
}

// Pulse draws the last cells of a trend: the number of waiters or, without any, whether the lock
// was held or free. Unknown cells are blank.
func Pulse(t *theme.Theme, trend inspect.Trend, cells int) widget.Line {
	waiting := trend.Waiting[max(0, len(trend.Waiting)-cells):]
	holding := trend.Holding[max(0, len(trend.Holding)-cells):]
	most := float64(leastScale)
	if len(waiting) > 0 {
		most = max(most, slices.Max(waiting))
	}
	var out widget.Line
	var last theme.Style
	add := func(style theme.Style, text string) {
		if n := len(out); n > 0 && last.Foreground() == style.Foreground() {
			out[n-1].Text += text
			return
		}
		out, last = out.Add(style, text), style
	}
	for i, w := range waiting {
		switch {
		case w < 0:
			add(t.Faint, " ")
		case w > 0: // higher than for a lone holder
			add(t.Waiting, t.Spark(1+7*w/most, 8))
		case holding[i] > 0:
			add(t.Holding, t.Glyphs.Steps[0])
		default:
			add(t.Faint, t.Glyphs.Free)
		}
	}
	return out
}
