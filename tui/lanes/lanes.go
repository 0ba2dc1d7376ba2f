package lanes

import (
	"cmp"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/tui/widget"
)

// Lane is one contender's time with a lock, by our clock.
type Lane struct {
	Contender *inspect.Contender
	// Queued, granted and ended are zero when unknown or not yet.
	Queued, Granted, Ended time.Time
	// seen is since when it was seen in its state; zero: since we began to look.
	seen time.Time
	// Present: it is in the lock now. early: it held already when we began to look, or could look again. left: it left without a grant.
	// unseenEnd: it ended while we could not look, at ended at the latest.
	Present, early, Left, unseenEnd bool
	// how it ended; empty when that is not known.
	how inspect.EventKind
	// Overtaken are the grants to contenders that came later, while it waited.
	Overtaken []time.Time
}

// Key tells lanes apart: a contender of some libraries comes again under the same name.
type Key struct {
	Name           inspect.Untrusted
	since, granted int64
}

func KeyOf(c *inspect.Contender) Key {
	return Key{c.Name, c.Since.UnixNano(), c.HeldSince.UnixNano()}
}

// Waits says that it waits now.
func (l *Lane) Waits() bool { return l.Present && l.Contender.State != inspect.Holding }

// Arrival is when it came; zero when that was before anything we know.
func (l *Lane) Arrival() time.Time {
	if l.Queued.IsZero() {
		return l.Granted
	}
	return l.Queued
}

// waited is how long it was in the queue before its grant, or has been so far; false when that is not known.
func (l *Lane) waited(now time.Time) (time.Duration, bool) {
	switch {
	case l.Queued.IsZero() || l.early:
		return 0, false
	case l.Waits():
		return max(0, now.Sub(l.Queued)), true
	case l.Left:
		return l.Ended.Sub(l.Queued), true
	case l.Granted.IsZero():
		return 0, false
	default:
		return l.Granted.Sub(l.Queued), true
	}
}

// since is from when on it was seen, where we have looked at the lock from some time on.
func (l *Lane) since(looked time.Time) time.Time {
	if l.seen.After(looked) {
		return l.seen
	}
	return looked
}

// held is how long it held, or has held so far; false when that is not known.
func (l *Lane) held(now time.Time) (time.Duration, bool) {
	switch {
	case l.Granted.IsZero() || l.early || l.unseenEnd:
		return 0, false
	case l.Present:
		return max(0, now.Sub(l.Granted)), true
	default:
		return l.Ended.Sub(l.Granted), true
	}
}

// PastLock is what is known of a lock's past.
type PastLock struct {
	// spans are the last holds that the observer knows, ended the events of contenders that left.
	spans []inspect.Span
	ended []inspect.Event
	// joined is when, by our clock, those came whose entries do not tell.
	joined map[Key]time.Time
	// offset is the backend's clock minus ours.
	offset time.Duration
}

// LanesOf makes a lane of everybody who is in a lock, which may be nil, or was, in the order in which they came.
func LanesOf(l *inspect.Lock, past PastLock, now time.Time) []Lane {
	ours := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(-past.offset)
	}
	var lanes []Lane
	known := make(map[Key]bool)
	put := func(n Lane) {
		k := KeyOf(n.Contender)
		if known[k] {
			return
		}
		known[k] = true
		n.Queued, n.Granted, n.seen = ours(n.Contender.Since), ours(n.Contender.HeldSince), n.Contender.Seen
		if n.Queued.IsZero() {
			n.Queued = past.joined[k]
		}
		if n.early && !n.Queued.IsZero() && !n.seen.IsZero() && n.seen.Sub(n.Queued) <= describe.Near {
			n.early, n.Granted = false, n.Queued
		}
		lanes = append(lanes, n.inOrder(now))
	}
	if l != nil {
		for i := range l.Holders {
			put(Lane{Contender: &l.Holders[i], Present: true, early: l.Holders[i].HeldSince.IsZero()})
		}
		for i := range l.Waiters {
			put(Lane{Contender: &l.Waiters[i], Present: true})
		}
	}
	for i := range past.ended {
		put(endedLane(&past.ended[i]))
	}
	for i := range past.spans {
		s := &past.spans[i]
		if s.Granted.IsZero() && i > 0 {
			continue // not from the beginning on: since when is not known
		}
		n := Lane{
			Contender: &inspect.Contender{Name: s.Contender, Since: s.Queued, HeldSince: s.Granted, Owner: inspect.Owner{Label: s.Label}, State: inspect.Holding},
			Ended:     ours(s.Ended), early: s.Granted.IsZero(),
		}
		if n.Ended.IsZero() {
			n.Ended, n.unseenEnd = ours(s.Granted), true
		}
		put(n)
	}
	slices.SortStableFunc(lanes, inArrival)
	overtakings(lanes, now)
	return lanes
}

// endedLane is the lane of a contender that an event tells has left.
func endedLane(e *inspect.Event) Lane {
	c := e.Contender
	n := Lane{Contender: c, Ended: e.At, how: e.Kind}
	switch {
	case c.State != inspect.Holding:
		n.Left = true
	default:
		n.early = c.HeldSince.IsZero()
	}
	if e.Kind == inspect.EventExpired && !c.ExpiresAt.IsZero() && c.ExpiresAt.Before(e.At) {
		n.Ended = c.ExpiresAt
	}
	n.unseenEnd = e.Kind == inspect.EventEnded
	return n
}

// inOrder is the lane with no instant before the one that precedes it, or in the future: two clocks took them, and what is
// drawn may be a moment behind.
func (l Lane) inOrder(now time.Time) Lane {
	for _, t := range []*time.Time{&l.Queued, &l.Granted, &l.Ended} {
		if t.After(now) {
			*t = now
		}
	}
	after := func(t, before time.Time) time.Time {
		if !t.IsZero() && t.Before(before) {
			return before
		}
		return t
	}
	l.Granted = after(l.Granted, l.Queued)
	l.Ended = after(after(l.Ended, l.Queued), l.Granted)
	return l
}

// inArrival orders lanes by when they came, those of the same moment by the server's own numbers.
func inArrival(a, b Lane) int {
	if c := a.Arrival().Compare(b.Arrival()); c != 0 {
		return c
	}
	if a.Contender.Sequential && b.Contender.Sequential {
		return cmp.Compare(a.Contender.Sequence-b.Contender.Sequence, 0) // they wrap around
	}
	return 0 // as they stand in the queue
}

// betweenLooks is how much later than it happened a change on a busy lock may be seen: it is read four times a second.
const betweenLooks = 500 * time.Millisecond

// overtakings marks in each lane the grants to those that came after it and got the lock while it waited.
func overtakings(lanes []Lane, now time.Time) {
	var granted []*Lane // the others overtake nobody, and may be thousands
	for i := range lanes {
		if b := &lanes[i]; !b.early && !b.Granted.IsZero() {
			granted = append(granted, b)
		}
	}
	for i := range lanes {
		a := &lanes[i]
		if a.Queued.IsZero() || a.early {
			continue
		}
		until := now
		if !a.Waits() {
			until = a.Granted
		}
		if a.Left { // it may have been granted, and have released, between two looks
			until = a.Ended.Add(-betweenLooks)
		}
		for _, b := range granted {
			if b.Queued.After(a.Queued) && b.Granted.Before(until) {
				a.Overtaken = append(a.Overtaken, b.Granted)
			}
		}
	}
}

// Cell is what stands in one cell of a lane.
type Cell uint8

// The cells; a later one goes over an earlier one.
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

// Window is a piece of time that is drawn in cells of the same length.
type Window struct {
	From  time.Time
	Step  time.Duration
	Cells int
}

// WindowTo is the window of about that length which ends with the cell that an instant is in. Its cells begin at
// multiples of their length, so that a picture that goes on moves by whole cells.
func WindowTo(end time.Time, length time.Duration, cells int) Window {
	step := max(time.Millisecond, length/time.Duration(max(1, cells)))
	return Window{end.Truncate(step).Add(-step * time.Duration(cells-1)), step, cells}
}

// at is the cell that an instant is in; it may be outside.
func (w Window) at(t time.Time) int {
	d := t.Sub(w.From)
	if d < 0 {
		return -1
	}
	return int(min(d/w.Step, 1<<30))
}

func (w Window) End() time.Time { return w.From.Add(w.Step * time.Duration(w.Cells)) }

// Shows says that some of a lane is in the window.
func (w Window) Shows(l *Lane) bool {
	from := l.Arrival()
	if !from.IsZero() && !from.Before(w.End()) {
		return false
	}
	return l.Present || !l.Ended.Before(w.From)
}

// Draw makes the cells of a lane. looked is when we began to look.
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
		if from.IsZero() { // it waited already when we began to look
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

// drawEarly draws one that held already when we saw it first: when it was granted is not known, only that it was in the
// queue before. Its left end is open.
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

// Lengths are the windows that one can choose from.
func Lengths() []time.Duration {
	return []time.Duration{
		10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	}
}

// Fitting is the least length, or the shortest longer one of those to choose from, that shows everybody who is in the lock
// and the last few who were.
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

// tick is how far apart the marks of a time axis are: at least so many cells.
func (w Window) tick(cells int) time.Duration {
	for _, seconds := range []int{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800} {
		if d := time.Duration(seconds) * time.Second; d >= w.Step*time.Duration(cells) {
			return d
		}
	}
	return time.Hour
}

// axis is a line of marks with their times; now stands at its end when the window reaches it.
func (w Window) axis(mark, now string) string {
	out := []rune(widget.Blanks(w.Cells))
	put := func(at int, text string) {
		for i, r := range []rune(text) {
			out[at+i] = r
		}
	}
	room := w.Cells
	if now != "" {
		room -= len(now) + 1
		put(w.Cells-len(now), now)
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
