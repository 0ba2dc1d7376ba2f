package lanes

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/fairness"
)

// Lane is one contender's time with a lock, by our clock.
type Lane struct {
	Contender *inspect.Contender
	// Queued, Granted and Ended are zero if unknown, or if that has not happened yet.
	Queued, Granted, Ended time.Time
	// seen is when we first saw it in its state; zero means when we began to watch.
	seen time.Time
	// Present means that it is in the lock now. early means that it already held the lock when we
	// began to watch, or could watch again. Left means that it left without a grant. unseenEnd
	// means that it ended while we could not watch, at Ended or earlier. near means that we did not
	// see its grant, but its entry is hardly older than our first sight of it. That is good enough
	// to draw. No figure counts it, since it may have waited for most of that time.
	Present, early, Left, unseenEnd, near bool
	// how is the kind of event that ended it; empty if unknown.
	how inspect.EventKind
	// Earlier are the client's previous attempts, if they are folded into this lane.
	Earlier []*Lane
	// Overtaken are the grants to later arrivals while it waited.
	Overtaken []time.Time
}

// Key identifies a lane, since contenders of some libraries come back under the same name.
type Key struct {
	Name           inspect.Untrusted
	since, granted int64
}

func KeyOf(c *inspect.Contender) Key {
	return Key{c.Name, c.Since.UnixNano(), c.HeldSince.UnixNano()}
}

// Fold merges all attempts of a client of a backend into one lane: the newest one's, at the place
// of the first. An unidentified contender keeps one lane per attempt.
func Fold(lanes []*Lane, backend string) []*Lane {
	var folded []*Lane
	place := make(map[inspect.Identity]int)
	for _, l := range lanes {
		who, known := l.Contender.Identity(backend)
		at, again := place[who]
		if !known || !again || folded[at].overlaps(l) {
			if known {
				place[who] = len(folded)
			}
			folded = append(folded, l)
			continue
		}
		newest := *l
		newest.Earlier = append(slices.Clip(folded[at].Earlier), folded[at])
		folded[at] = &newest
	}
	return folded
}

// overlaps reports whether an attempt began before this one ended, as with a client that holds two
// read locks at once. Short overlaps do not count: an end is seen late, while the next attempt's
// entry may contain its exact start.
func (l *Lane) overlaps(later *Lane) bool {
	return l.Present || later.Arrival().Add(betweenLooks).Before(l.Ended)
}

// Is reports whether this key belongs to an attempt of the lane.
func (l *Lane) Is(k Key) bool {
	return KeyOf(l.Contender) == k || slices.ContainsFunc(l.Earlier, func(e *Lane) bool {
		return KeyOf(e.Contender) == k
	})
}

// Waits reports whether it waits now.
func (l *Lane) Waits() bool { return l.Present && l.Contender.State != inspect.Holding }

// Arrival is the beginning of its wait, or its grant if no wait is known; zero if we saw neither.
func (l *Lane) Arrival() time.Time {
	if l.Queued.IsZero() {
		return l.Granted
	}
	return l.Queued
}

// waited is its time in the queue before the grant, or so far; false if unknown.
func (l *Lane) waited(now time.Time) (time.Duration, bool) {
	switch {
	case l.Queued.IsZero() || l.early || l.near:
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

// since is when we first saw it, but not before we first looked at the lock.
func (l *Lane) since(looked time.Time) time.Time {
	if l.seen.After(looked) {
		return l.seen
	}
	return looked
}

// held is how long it has held the lock, or did; an upper bound if near; false if unknown.
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

// PastLock is the part of a lock's past that its present state does not show.
type PastLock struct {
	// spans are the last holds that the observer knows, ended the events of contenders that left.
	spans []inspect.Span
	ended []inspect.Event
	// joined holds the arrivals, by our clock, of contenders whose entries have no arrival time.
	joined map[Key]time.Time
	// offset is the backend's clock minus ours.
	offset time.Duration
}

// LanesOf makes a lane for each present and past contender of a lock, in order of arrival. l may be
// nil.
func LanesOf(l *inspect.Lock, past PastLock, now time.Time) []Lane {
	ours := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(-past.offset)
	}
	var lanes []Lane
	known := make(map[Key]bool)
	add := func(n Lane) {
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
			n.early, n.near, n.Granted = false, true, n.Queued
		}
		lanes = append(lanes, n.inOrder(now))
	}
	if l != nil {
		for i := range l.Holders {
			add(Lane{Contender: &l.Holders[i], Present: true, early: l.Holders[i].HeldSince.IsZero()})
		}
		for i := range l.Waiters {
			add(Lane{Contender: &l.Waiters[i], Present: true})
		}
	}
	for i := range past.ended {
		add(endedLane(&past.ended[i]))
	}
	for i := range past.spans {
		if s := &past.spans[i]; i == 0 || !s.Granted.IsZero() { // later ones without a grant began at an unknown time
			add(spanLane(s, ours))
		}
	}
	slices.SortStableFunc(lanes, inArrival)
	overtakings(lanes, now)
	return lanes
}

// spanLane is the lane of a hold that the observer remembers.
func spanLane(s *inspect.Span, ours func(time.Time) time.Time) Lane {
	n := Lane{
		Contender: &inspect.Contender{
			Name: s.Contender, Since: s.Queued, HeldSince: s.Granted, Owner: inspect.Owner{Label: s.Label, Session: s.Session},
			State: inspect.Holding,
		},
		Ended: ours(s.Ended), early: s.Granted.IsZero(),
	}
	if n.Ended.IsZero() {
		n.Ended, n.unseenEnd = ours(s.Granted), true
	}
	return n
}

// endedLane is the lane of a contender that left with an event.
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
	n.unseenEnd = e.Kind == inspect.EventEnded && e.Unseen()
	return n
}

// inOrder returns the lane with its instants in order, and none in the future. The instants may
// come from two clocks, and the drawn time may be a moment behind.
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

// inArrival orders lanes by arrival, and simultaneous ones by sequence number.
func inArrival(a, b Lane) int {
	if c := a.Arrival().Compare(b.Arrival()); c != 0 {
		return c
	}
	if a.Contender.Sequential && b.Contender.Sequential {
		return cmp.Compare(a.Contender.Sequence-b.Contender.Sequence, 0) // they wrap around
	}
	return 0 // in queue order
}

// betweenLooks bounds the delay of a change on a busy lock, which is read four times a second.
const betweenLooks = 500 * time.Millisecond

// claim is the lane's place in the queue.
func (l *Lane) claim() fairness.Claim {
	return fairness.Claim{Place: l.Queued.UnixNano(), Shared: l.Contender.Mode == recipe.Shared}
}

// overtakings marks, in each lane, the grants to later arrivals while it waited.
func overtakings(lanes []Lane, now time.Time) {
	var granted []*Lane // waiters overtake none, and may be thousands
	for i := range lanes {
		if b := &lanes[i]; !b.early && !b.Granted.IsZero() && !b.Queued.IsZero() {
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
			if b.Granted.Before(until) && b.claim().Overtakes(a.claim()) {
				a.Overtaken = append(a.Overtaken, b.Granted)
			}
		}
	}
}
