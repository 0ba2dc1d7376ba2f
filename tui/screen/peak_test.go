package screen

import (
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// The longest queue includes the present one: the cells of a trend are averages of half a minute.
func TestPeakIncludesThePresent(t *testing.T) {
	trend := inspect.Trend{Waiting: []float64{9, 0, 1.2}}
	must.Equal(t, Peak(trend, 2, 5), ", max 5")
	must.Equal(t, Peak(trend, 2, 0), ", max 2")
	must.Equal(t, Peak(trend, 3, 5), ", max 9")
	must.Equal(t, Peak(inspect.Trend{}, 3, 0), "")
}
