package tui

import (
	"cmp"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// lane is one contender's time with a lock, by our clock.
type lane struct {
	contender *inspect.Contender
	// queued, granted and ended are zero when unknown or not yet.
	queued, granted, ended time.Time
	// seen is since when it was seen in its state; zero: since we began to look.
	seen time.Time
	// present: it is in the lock now. early: it held already when we began to look, or could look again. left: it left without a grant.
	// unseenEnd: it ended while we could not look, at ended at the latest.
	present, early, left, unseenEnd bool
	// how it ended; empty when that is not known.
	how inspect.EventKind
	// overtaken are the grants to contenders that came later, while it waited.
	overtaken []time.Time
}

// laneKey tells lanes apart: a contender of some libraries comes again under the same name.
type laneKey struct {
	name           inspect.Untrusted
	since, granted int64
}

func keyOf(c *inspect.Contender) laneKey {
	return laneKey{c.Name, c.Since.UnixNano(), c.HeldSince.UnixNano()}
}

// waits says that it waits now.
func (l *lane) waits() bool { return l.present && l.contender.State != inspect.Holding }

// arrival is when it came; zero when that was before anything we know.
func (l *lane) arrival() time.Time {
	if l.queued.IsZero() {
		return l.granted
	}
	return l.queued
}

// waited is how long it was in the queue before its grant, or has been so far; false when that is not known.
func (l *lane) waited(now time.Time) (time.Duration, bool) {
	switch {
	case l.queued.IsZero() || l.early:
		return 0, false
	case l.waits():
		return max(0, now.Sub(l.queued)), true
	case l.left:
		return l.ended.Sub(l.queued), true
	case l.granted.IsZero():
		return 0, false
	default:
		return l.granted.Sub(l.queued), true
	}
}

// since is from when on it was seen, where we have looked at the lock from some time on.
func (l *lane) since(looked time.Time) time.Time {
	if l.seen.After(looked) {
		return l.seen
	}
	return looked
}

// held is how long it held, or has held so far; false when that is not known.
func (l *lane) held(now time.Time) (time.Duration, bool) {
	switch {
	case l.granted.IsZero() || l.early || l.unseenEnd:
		return 0, false
	case l.present:
		return max(0, now.Sub(l.granted)), true
	default:
		return l.ended.Sub(l.granted), true
	}
}

// pastLock is what is known of a lock's past.
type pastLock struct {
	// spans are the last holds that the observer knows, ended the events of contenders that left.
	spans []inspect.Span
	ended []inspect.Event
	// joined is when, by our clock, those came whose entries do not tell.
	joined map[laneKey]time.Time
	// offset is the backend's clock minus ours.
	offset time.Duration
}

// lanesOf makes a lane of everybody who is in a lock, which may be nil, or was, in the order in which they came.
func lanesOf(l *inspect.Lock, past pastLock, now time.Time) []lane {
	ours := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(-past.offset)
	}
	var lanes []lane
	known := make(map[laneKey]bool)
	put := func(n lane) {
		k := keyOf(n.contender)
		if known[k] {
			return
		}
		known[k] = true
		n.queued, n.granted, n.seen = ours(n.contender.Since), ours(n.contender.HeldSince), n.contender.Seen
		if n.queued.IsZero() {
			n.queued = past.joined[k]
		}
		if n.early && !n.queued.IsZero() && !n.seen.IsZero() && n.seen.Sub(n.queued) <= describe.Near {
			n.early, n.granted = false, n.queued
		}
		lanes = append(lanes, n.inOrder(now))
	}
	if l != nil {
		for i := range l.Holders {
			put(lane{contender: &l.Holders[i], present: true, early: l.Holders[i].HeldSince.IsZero()})
		}
		for i := range l.Waiters {
			put(lane{contender: &l.Waiters[i], present: true})
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
		n := lane{
			contender: &inspect.Contender{Name: s.Contender, Since: s.Queued, HeldSince: s.Granted, Owner: inspect.Owner{Label: s.Label}, State: inspect.Holding},
			ended:     ours(s.Ended), early: s.Granted.IsZero(),
		}
		if n.ended.IsZero() {
			n.ended, n.unseenEnd = ours(s.Granted), true
		}
		put(n)
	}
	slices.SortStableFunc(lanes, inArrival)
	overtakings(lanes, now)
	return lanes
}

// endedLane is the lane of a contender that an event tells has left.
func endedLane(e *inspect.Event) lane {
	c := e.Contender
	n := lane{contender: c, ended: e.At, how: e.Kind}
	switch {
	case c.State != inspect.Holding:
		n.left = true
	default:
		n.early = c.HeldSince.IsZero()
	}
	if e.Kind == inspect.EventExpired && !c.ExpiresAt.IsZero() && c.ExpiresAt.Before(e.At) {
		n.ended = c.ExpiresAt
	}
	n.unseenEnd = e.Kind == inspect.EventEnded
	return n
}

// inOrder is the lane with no instant before the one that precedes it, or in the future: two clocks took them, and what is
// drawn may be a moment behind.
func (l lane) inOrder(now time.Time) lane {
	for _, t := range []*time.Time{&l.queued, &l.granted, &l.ended} {
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
	l.granted = after(l.granted, l.queued)
	l.ended = after(after(l.ended, l.queued), l.granted)
	return l
}

// inArrival orders lanes by when they came, those of the same moment by the server's own numbers.
func inArrival(a, b lane) int {
	if c := a.arrival().Compare(b.arrival()); c != 0 {
		return c
	}
	if a.contender.Sequential && b.contender.Sequential {
		return cmp.Compare(a.contender.Sequence-b.contender.Sequence, 0) // they wrap around
	}
	return 0 // as they stand in the queue
}

// betweenLooks is how much later than it happened a change on a busy lock may be seen: it is read four times a second.
const betweenLooks = 500 * time.Millisecond

// overtakings marks in each lane the grants to those that came after it and got the lock while it waited.
func overtakings(lanes []lane, now time.Time) {
	var granted []*lane // the others overtake nobody, and may be thousands
	for i := range lanes {
		if b := &lanes[i]; !b.early && !b.granted.IsZero() {
			granted = append(granted, b)
		}
	}
	for i := range lanes {
		a := &lanes[i]
		if a.queued.IsZero() || a.early {
			continue
		}
		until := now
		if !a.waits() {
			until = a.granted
		}
		if a.left { // it may have been granted, and have released, between two looks
			until = a.ended.Add(-betweenLooks)
		}
		for _, b := range granted {
			if b.queued.After(a.queued) && b.granted.Before(until) {
				a.overtaken = append(a.overtaken, b.granted)
			}
		}
	}
}

// cell is what stands in one cell of a lane.
type cell uint8

// The cells; a later one goes over an earlier one.
const (
	cellEmpty cell = iota
	cellStart
	cellWaiting
	cellUnclear
	cellHolding
	cellOvertaken
	cellLeft
	cellOpen
)

// window is a piece of time that is drawn in cells of the same length.
type window struct {
	from  time.Time
	step  time.Duration
	cells int
}

// windowTo is the window of about that length which ends with the cell that an instant is in. Its cells begin at
// multiples of their length, so that a picture that goes on moves by whole cells.
func windowTo(end time.Time, length time.Duration, cells int) window {
	step := max(time.Millisecond, length/time.Duration(max(1, cells)))
	return window{end.Truncate(step).Add(-step * time.Duration(cells-1)), step, cells}
}

// at is the cell that an instant is in; it may be outside.
func (w window) at(t time.Time) int {
	d := t.Sub(w.from)
	if d < 0 {
		return -1
	}
	return int(min(d/w.step, 1<<30))
}

func (w window) end() time.Time { return w.from.Add(w.step * time.Duration(w.cells)) }

// shows says that some of a lane is in the window.
func (w window) shows(l *lane) bool {
	from := l.arrival()
	if !from.IsZero() && !from.Before(w.end()) {
		return false
	}
	return l.present || !l.ended.Before(w.from)
}

// draw makes the cells of a lane. looked is when we began to look.
func (w window) draw(l *lane, looked, now time.Time) []cell {
	row := make([]cell, w.cells)
	put := func(from, to int, c cell) {
		for i := max(0, from); i < min(to, len(row)); i++ {
			row[i] = max(row[i], c)
		}
	}
	if at := w.at(looked); at >= 0 {
		put(at, at+1, cellStart)
	}
	end := w.at(l.ended)
	if l.present {
		end = w.at(now) + 1
	}
	switch {
	case l.waits() || l.left:
		from := l.queued
		if from.IsZero() { // it waited already when we began to look
			from = l.since(looked)
			put(max(0, w.at(from)), min(end, max(0, w.at(from))+1), cellOpen)
		}
		put(w.at(from), end, cellWaiting)
		if l.left {
			put(end, end+1, cellLeft)
		}
	case l.early:
		w.drawEarly(l, l.since(looked), end, put)
	default:
		from := w.at(l.granted)
		if !l.queued.IsZero() {
			put(w.at(l.queued), from, cellWaiting)
		}
		put(from, max(end, from+1), cellHolding)
	}
	if l.unseenEnd {
		put(end, end+1, cellUnclear)
	}
	for _, t := range l.overtaken {
		at := w.at(t)
		put(at, at+1, cellOvertaken)
	}
	return row
}

// drawEarly draws one that held already when we saw it first: when it was granted is not known, only that it was in the
// queue before. Its left end is open.
func (w window) drawEarly(l *lane, looked time.Time, end int, put func(from, to int, c cell)) {
	seen := max(0, w.at(looked))
	from := max(0, seen-1)
	if !l.queued.IsZero() {
		from = max(0, w.at(l.queued))
	}
	put(from, seen, cellUnclear)
	put(max(from, seen), max(end, seen+1), cellHolding)
	if !l.ended.IsZero() && end < 0 {
		return
	}
	put(from, from+1, cellOpen)
}

// lengths are the windows that one can choose from.
func lengths() []time.Duration {
	return []time.Duration{
		10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
	}
}

// fitting is the least length, or the shortest longer one of those to choose from, that shows everybody who is in the lock
// and the last few who were.
func fitting(lanes []lane, now time.Time, least time.Duration) time.Duration {
	const former = 6
	var oldest time.Time
	past := 0
	for i := len(lanes) - 1; i >= 0; i-- {
		l := &lanes[i]
		if l.arrival().IsZero() || !l.present && past == former {
			continue
		}
		if !l.present {
			past++
		}
		if oldest.IsZero() || l.arrival().Before(oldest) {
			oldest = l.arrival()
		}
	}
	d := least
	for _, longer := range lengths() {
		if oldest.IsZero() || now.Sub(oldest) < d*19/20 {
			break
		}
		d = max(d, longer)
	}
	return d
}

// tick is how far apart the marks of a time axis are: at least so many cells.
func (w window) tick(cells int) time.Duration {
	for _, seconds := range []int{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800} {
		if d := time.Duration(seconds) * time.Second; d >= w.step*time.Duration(cells) {
			return d
		}
	}
	return time.Hour
}

// axis is a line of marks with their times; now stands at its end when the window reaches it.
func (w window) axis(mark, now string) string {
	out := []rune(blanks(w.cells))
	put := func(at int, text string) {
		for i, r := range []rune(text) {
			out[at+i] = r
		}
	}
	room := w.cells
	if now != "" {
		room -= len(now) + 1
		put(w.cells-len(now), now)
	}
	tick := w.tick(12)
	format := "15:04:05"
	if tick >= time.Minute {
		format = "15:04"
	}
	for t := w.from.Add(w.step - 1).Truncate(tick); t.Before(w.end()); t = t.Add(tick) {
		at := w.at(t)
		if text := mark + t.Format(format); at >= 0 && at+len(format)+1 <= room {
			put(at, text)
		}
	}
	return string(out)
}
