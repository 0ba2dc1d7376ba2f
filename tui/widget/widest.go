package widget

import "time"

// widthKept is for which time a column stays as wide as its widest cell was, so that a long name that comes
// and goes moves nothing.
const widthKept = 30 * time.Second

// Widest is a column's need of width, which grows at once and shrinks only after a while.
type Widest struct {
	cells int
	at    time.Time
}

// Keep returns the need of the last while, in cells, of which the cells need some now. Time may go back, as
// in a recording.
func (w *Widest) Keep(need int, now time.Time) int {
	if need >= w.cells || now.Sub(w.at).Abs() >= widthKept {
		w.cells, w.at = need, now
	}
	return w.cells
}
