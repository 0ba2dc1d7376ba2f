package widget

import "time"

// widthKept is how long a column keeps the width of its widest cell, so that a long name that
// comes and goes moves nothing. linesKept is the same for lines with something below them.
const widthKept, linesKept = 30 * time.Second, 10 * time.Second

// Widest is a width that grows at once and shrinks only after a while.
type Widest struct {
	most, since int // since is the largest need after at
	at          time.Time
}

// Keep returns the largest width, in cells, needed recently. need is what is needed now. Time may
// go back, as in a recording.
func (w *Widest) Keep(need int, now time.Time) int { return w.keep(need, now, widthKept) }

// KeepLines is Keep for lines.
func (w *Widest) KeepLines(need int, now time.Time) int { return w.keep(need, now, linesKept) }

func (w *Widest) keep(need int, now time.Time, kept time.Duration) int {
	if now.Before(w.at) {
		w.since = 0
	}
	w.since = max(w.since, need)
	if w.since >= w.most || now.Sub(w.at).Abs() >= kept {
		w.most, w.since, w.at = w.since, 0, now
	}
	return w.most
}

// Fill adds blank lines up to the recent maximum, but not beyond room.
func (w *Widest) Fill(lines []Line, room int, now time.Time) []Line {
	for n := min(room, w.KeepLines(len(lines), now)); len(lines) < n; {
		lines = append(lines, nil)
	}
	return lines
}
