package widget

import (
	"math/rand/v2"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
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

// A text is scrolled step by step. It stops at its start and its end.
func TestTextScrollsToItsEnds(t *testing.T) {
	var c Scroller
	for _, step := range []struct {
		what           string
		by, lines, top int
	}{
		{"down", 3, 10, 3},
		{"down past the end", 9, 10, 6},
		{"the text gets shorter", 0, 8, 4},
		{"up past the start", -9, 8, 0},
		{"all of a short text is visible", 5, 3, 0},
	} {
		c.Scroll(step.by, step.lines, 4)
		must.Equal(t, c.Top, step.top, step.what, "of 4 rows: first line")
	}
}
