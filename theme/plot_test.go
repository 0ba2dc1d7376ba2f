package theme

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestSparksKeepSmallValuesVisible(t *testing.T) {
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{}, " ▁▁▄██╌"}, {Options{ASCII: true}, " __=##:"},
	} {
		// A small value is not blank, a value above the maximum is full, and unknown differs from
		// zero.
		must.Equal(t, New(test.options).Sparks([]float64{0, 0.01, 1, 4, 8, 99, -1}, 8), test.want)
	}
	must.Equal(t, New(Options{}).Sparks([]float64{0, 3}, 0), "  ", "of nothing")
}

func TestPillarIsProportional(t *testing.T) {
	for _, test := range []struct {
		value float64
		want  string
	}{{0, "   "}, {0.001, "  ▁"}, {1, "  █"}, {1.5, " ▄█"}, {3, "███"}, {9, "███"}} {
		must.Equal(t, strings.Join(New(Options{}).Pillar(test.value, 3, 3), ""), test.want, test.value)
	}
}
