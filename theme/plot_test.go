package theme

import (
	"strings"
	"testing"
)

func TestSparks(t *testing.T) {
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{}, " ▁▁▄██╌"}, {Options{ASCII: true}, " __=##:"},
	} {
		// Little is not nothing, more than most is most, and unknown is not zero.
		if got := New(test.options).Sparks([]float64{0, 0.01, 1, 4, 8, 99, -1}, 8); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if got := New(Options{}).Sparks([]float64{0, 3}, 0); got != "  " {
		t.Errorf("of nothing: %q", got)
	}
}

func TestPillar(t *testing.T) {
	for _, test := range []struct {
		value float64
		want  string
	}{{0, "   "}, {0.001, "  ▁"}, {1, "  █"}, {1.5, " ▄█"}, {3, "███"}, {9, "███"}} {
		if got := strings.Join(New(Options{}).Pillar(test.value, 3, 3), ""); got != test.want {
			t.Errorf("%v: %q, want %q", test.value, got, test.want)
		}
	}
}
