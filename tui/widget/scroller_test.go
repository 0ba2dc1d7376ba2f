package widget

import (
	"math/rand/v2"
	"testing"
)

// The cursor is always on a visible line of the list, and the view has no avoidable empty lines.
// Moving within the view does not scroll.
func TestScroller(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var c Scroller
		for range 10 {
			n, rows, at := r.IntN(30), 1+r.IntN(12), r.IntN(44)-3
			before := c
			if r.IntN(4) == 0 {
				c.Center(at, n, rows)
			} else {
				c.To(at, n, rows)
				if c.At >= before.Top && c.At < before.Top+rows && before.Top <= max(0, n-rows) && c.Top != before.Top {
					t.Fatalf("%+v to %d of %d in %d rows: %+v", before, at, n, rows, c)
				}
			}
			from, to := c.Visible(n, rows)
			if n > 0 && (c.At < from || c.At >= to || c.At != max(0, min(at, n-1))) || to-from != min(n, rows) {
				t.Fatalf("to %d of %d in %d rows: %+v, from %d to %d", at, n, rows, c, from, to)
			}
		}
	}
}

func TestScrollerOfText(t *testing.T) {
	var c Scroller
	for _, test := range []struct{ by, n, rows, want int }{{3, 10, 4, 3}, {9, 10, 4, 6}, {0, 8, 4, 4}, {-9, 8, 4, 0}, {5, 3, 4, 0}} {
		if c.Scroll(test.by, test.n, test.rows); c.Top != test.want {
			t.Errorf("%+v: %d", test, c.Top)
		}
	}
}
