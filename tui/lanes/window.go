package lanes

import (
	"time"

	"github.com/lockscope/lockscope/tui/widget"
)

// Cell is the sign in one cell of a lane.
type Cell uint8

// The cells; a later one replaces an earlier one.
const (
	cellEmpty Cell = iota
	cellStart
	cellWaiting
	cellUnclear
	cellHolding
	cellOvertaken
	cellLeft
	cellOpen
)

// Window is a time span drawn in cells of equal length.
type Window struct {
	From  time.Time
	Step  time.Duration
	Cells int
}

// WindowTo is the window of about the given length that ends with the cell of the given instant.
// Its cells begin at multiples of their length, so that a running picture moves by whole cells.
func WindowTo(end time.Time, length time.Duration, cells int) Window {
	step := max(time.Millisecond, length/time.Duration(max(1, cells)))
	return Window{end.Truncate(step).Add(-step * time.Duration(cells-1)), step, cells}
}

// at is the cell of an instant; it may be outside the window.
func (w Window) at(t time.Time) int {
	d := t.Sub(w.From)
	if d < 0 {
		return -1
	}
	return int(min(d/w.Step, 1<<30))
}

func (w Window) End() time.Time { return w.From.Add(w.Step * time.Duration(w.Cells)) }

// Shows reports whether part of a lane is in the window.
func (w Window) Shows(l *Lane) bool {
	from := l.Arrival()
	if !from.IsZero() && !from.Before(w.End()) {
		return false
	}
	return l.Present || !l.Ended.Before(w.From)
}

// Draw makes the cells of a lane. looked is when we began to watch.
func (w Window) Draw(l *Lane, looked, now time.Time) []Cell {
	row := make([]Cell, w.Cells)
	put := func(from, to int, c Cell) {
		for i := max(0, from); i < min(to, len(row)); i++ {
			row[i] = max(row[i], c)
		}
	}
	if at := w.at(looked); at >= 0 {
		put(at, at+1, cellStart)
	}
	end := w.at(l.Ended)
	if l.Present {
		end = w.at(now) + 1
	}
	switch {
	case l.Waits() || l.Left:
		from := l.Queued
		if from.IsZero() { // it was waiting when we began to watch
			from = l.since(looked)
			put(max(0, w.at(from)), min(end, max(0, w.at(from))+1), cellOpen)
		}
		put(w.at(from), end, cellWaiting)
		if l.Left {
			put(end, end+1, cellLeft)
		}
	case l.early:
		w.drawEarly(l, l.since(looked), end, put)
	default:
		from := w.at(l.Granted)
		if !l.Queued.IsZero() {
			put(w.at(l.Queued), from, cellWaiting)
		}
		put(from, max(end, from+1), cellHolding)
	}
	if l.unseenEnd {
		put(end, end+1, cellUnclear)
	}
	for _, t := range l.Overtaken {
		at := w.at(t)
		put(at, at+1, cellOvertaken)
	}
	return row
}

// drawEarly draws a lane that already held when we first saw it. Its grant is unknown, so its left
// end is open.
func (w Window) drawEarly(l *Lane, looked time.Time, end int, put func(from, to int, c Cell)) {
	seen := max(0, w.at(looked))
	from := max(0, seen-1)
	if !l.Queued.IsZero() {
		from = max(0, w.at(l.Queued))
	}
	put(from, seen, cellUnclear)
	put(max(from, seen), max(end, seen+1), cellHolding)
	if !l.Ended.IsZero() && end < 0 {
		return
	}
	put(from, from+1, cellOpen)
}

// Lengths are the window lengths that users can choose.
func Lengths() []time.Duration {
	return []time.Duration{
		10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute,
		5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	}
}

// Fitting is the shortest length that shows all present contenders and the last few that left. It
// is least, or a longer one of Lengths.
func Fitting(lanes []Lane, now time.Time, least time.Duration) time.Duration {
	const former = 6
	var oldest time.Time
	past := 0
	for i := len(lanes) - 1; i >= 0; i-- {
		l := &lanes[i]
		if l.Arrival().IsZero() || !l.Present && past == former {
			continue
		}
		if !l.Present {
			past++
		}
		if oldest.IsZero() || l.Arrival().Before(oldest) {
			oldest = l.Arrival()
		}
	}
	d := least
	for _, longer := range Lengths() {
		if oldest.IsZero() || now.Sub(oldest) < d*19/20 {
			break
		}
		d = max(d, longer)
	}
	return d
}

// tick is the distance between marks on a time axis: a round time of at least that many cells.
func (w Window) tick(cells int) time.Duration {
	for _, seconds := range []int{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800} {
		if d := time.Duration(seconds) * time.Second; d >= w.Step*time.Duration(cells) {
			return d
		}
	}
	return time.Hour
}

// Axis is a line of marks with their times. It ends at now, which is marked; a zero now is outside
// the window.
func (w Window) Axis(mark string, now time.Time) string {
	out := []rune(widget.Blanks(w.Cells))
	put := func(at int, text string) {
		for i, r := range []rune(text) {
			out[at+i] = r
		}
	}
	room := w.Cells
	if at := w.at(now) + 1 - len("now"); at >= 0 {
		room = at - 1
		put(at, "now")
	}
	tick := w.tick(12)
	format := "15:04:05"
	if tick >= time.Minute {
		format = "15:04"
	}
	for t := w.From.Add(w.Step - 1).Truncate(tick); t.Before(w.End()); t = t.Add(tick) {
		at := w.at(t)
		if text := mark + t.Format(format); at >= 0 && at+len(format)+1 <= room {
			put(at, text)
		}
	}
	return string(out)
}
