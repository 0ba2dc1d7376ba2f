package inspect

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/fairness"
	"github.com/lockscope/lockscope/internal/text"
)

const (
	// recentSpans limits how many ended holds are kept per lock.
	recentSpans = 32
	// recentRenewals limits the renewal intervals from which the usual one is computed.
	recentRenewals = 8
	// formerLocks limits the histories kept for locks that are gone, in case they come back.
	formerLocks = 1000
	// A key must gain the TTL divided by oneRenewal for that to count as another renewal. Several
	// masters are renewed and read one after the other, and a reading is off by its round trip.
	// Most clients renew at a third of the TTL. For a client that renews more often we may see
	// fewer renewals, but never report too early that they stopped.
	oneRenewal = 6
)

// track holds the history of a lock that has changed. It takes about 1 KB after few changes, and at
// most 12 KB. The last holds take 7 KB, and share the lock's texts. Durations of holds and waits
// take 2 KB.
type track struct {
	view         History // without the fields that are computed when it is published
	holds, waits durations
	spans        []Span // only appended to: the views share them
	renewal      sawtooth
}

// change is a newer version of a lock, and its events. was is nil for a new lock.
type change struct {
	was, is *Lock
	events  []Event
	offset  time.Duration // the backend's clock minus ours
	blind   bool
}

// eventful reports whether the change affects the history.
func (c *change) eventful() bool {
	return slices.ContainsFunc(c.events, func(e Event) bool { return e.Contender != nil }) || renewal(c) > 0
}

// apply records a change and returns the current history, which is never modified afterwards.
func (t *track) apply(c change) *History {
	for i := range c.events {
		switch e := &c.events[i]; e.Kind {
		case EventAcquired, EventHandover:
			t.granted(c, e)
		case EventReleased, EventExpired, EventForced, EventEnded:
			t.ended(c, e)
		}
	}
	t.forget(c.is)
	t.renewal.apply(&c)
	v := t.view
	v.LongestTTL = max(v.LongestTTL, c.is.Observed.LongestTTL)
	t.view.LongestTTL = v.LongestTTL
	v.Holds, v.Waits, v.Renewal = t.holds.spans(), t.waits.spans(), t.renewal.Renewal
	v.Recent = slices.Clip(t.spans[max(0, len(t.spans)-recentSpans):])
	return &v
}

func (t *track) granted(c change, e *Event) {
	t.view.Grants++
	if e.Kind == EventHandover {
		t.view.Handovers++
	}
	h := e.Contender
	was := cmp.Or(c.was, &Lock{})
	queue := was.Waiters
	place, since := slices.IndexFunc(queue, func(w Contender) bool { return same(&w, h) }), h.Since
	if place < 0 && isPermits(c.is) {
		place = slices.IndexFunc(queue, func(w Contender) bool { return w.Owner.Session == h.Owner.Session })
		if place < 0 {
			return // its client's place in the queue is unknown
		}
		since = queue[place].Since
	}
	// Waiters for a Redis key are known only if its library records them.
	if (place >= 0 || c.is.Masters == nil) && !since.IsZero() && !h.HeldSince.IsZero() {
		t.waits.add(h.HeldSince.Sub(since))
	}
	if place < 0 && ofSession(was.Holders, h) >= 0 {
		return // its own client already holds, like a writer that also reads
	}
	if place < 0 {
		place = len(queue) // it came after all of them
	}
	if place > 0 && !c.blind {
		t.overtake(h, queue[:place], c.is)
	}
}

// overtake counts a grant for each waiter that came earlier, still waits, and was overtaken by it.
func (t *track) overtake(granted *Contender, before []Contender, is *Lock) {
	now := indexOf(is)
	var waiters []*Contender
	var claims []fairness.Claim
	for i := range before {
		if w, ok := now.same(&before[i]); ok && w.State == Waiting && !w.Dead {
			waiters = append(waiters, w)
			claims = append(claims, fairness.Claim{Place: int64(i), Shared: w.Mode == recipe.Shared})
		}
	}
	last := fairness.Claim{Place: int64(len(before)), Shared: granted.Mode == recipe.Shared}
	counts := maps.Clone(t.view.Overtaken)
	for _, i := range fairness.Overtaken(last, claims, is.Limit-len(is.Holders)) {
		if counts == nil {
			counts = make(map[Untrusted]int)
		}
		counts[waiters[i].Name]++
	}
	t.view.Overtaken = counts
}

// forget drops the counts of contenders that no longer wait.
func (t *track) forget(is *Lock) {
	if len(t.view.Overtaken) == 0 {
		return
	}
	kept := make(map[Untrusted]int)
	for i := range is.Waiters {
		if n := t.view.Overtaken[is.Waiters[i].Name]; n > 0 {
			kept[is.Waiters[i].Name] = n
		}
	}
	t.view.Overtaken = kept
}

func (t *track) ended(c change, e *Event) {
	h := e.Contender
	s := Span{
		Contender: h.Name, Label: h.Owner.Label, Session: h.Owner.Session, Queued: h.Since, Granted: h.HeldSince,
		Ended: c.is.ReadAt.Add(c.offset),
	}
	switch {
	case e.Kind == EventEnded && e.Unseen():
		s.Ended = time.Time{} // at an unknown time in the gap
	case e.Kind == EventExpired && !h.ExpiresAt.IsZero() && h.ExpiresAt.Before(c.is.ReadAt):
		s.Ended = h.ExpiresAt.Add(c.offset)
	}
	if len(t.spans) == cap(t.spans) && len(t.spans) > recentSpans {
		t.spans = append(make([]Span, 0, 2*recentSpans), t.spans[len(t.spans)-recentSpans:]...)
	}
	t.spans = append(t.spans, s)
	if !s.Granted.IsZero() && !s.Ended.IsZero() {
		t.holds.add(s.Ended.Sub(s.Granted))
	}
}

// sawtooth follows the renewals of the current holder in its key's TTL.
type sawtooth struct {
	Renewal
	intervals [recentRenewals]time.Duration
	seen      int       // intervals so far
	until     time.Time // the expiry that the last renewal set
}

// renewal returns by how much the holder extended its key in a change; 0 if it did not, or if the
// holder changed. A semaphore's key does not count, since every client that takes a permit extends
// it.
func renewal(c *change) time.Duration {
	if c.was == nil || c.is.Kind == KindSemaphore || len(c.was.Holders) != 1 || len(c.is.Holders) != 1 {
		return 0
	}
	was, is := &c.was.Holders[0], &c.is.Holders[0]
	if was.ExpiresAt.IsZero() || is.ExpiresAt.IsZero() || !same(was, is) || !sameVoters(c.was, c.is) {
		return 0
	}
	if by := is.ExpiresAt.Sub(was.ExpiresAt); by > expirySlack {
		return by
	}
	return 0
}

// sameVoters reports whether the same masters agree. If not, the quorum's TTL changes even without
// a renewal.
func sameVoters(was, is *Lock) bool {
	return slices.EqualFunc(was.Masters, is.Masters,
		func(a, b Vote) bool { return a.Addr == b.Addr && a.Agrees == b.Agrees })
}

func (s *sawtooth) apply(c *change) {
	if len(c.is.Holders) != 1 ||
		c.was != nil && (len(c.was.Holders) != 1 || !same(&c.was.Holders[0], &c.is.Holders[0])) {
		*s = sawtooth{}
		return
	}
	if c.blind && s.Count > 0 {
		s.Last = c.is.ReadAt // a renewal may have been missed
	}
	if renewal(c) == 0 {
		return
	}
	until := c.is.Holders[0].ExpiresAt
	if s.until.IsZero() {
		s.until = c.was.Holders[0].ExpiresAt
	}
	gap := until.Sub(s.until) // a gap between readings would include their delays
	if gap < longestTTL(c.is)/oneRenewal {
		if s.Count > 0 {
			s.Last = c.is.ReadAt // the next master of the same renewal
		}
		return
	}
	if s.Count > 0 && !c.blind {
		if s.Every > 0 && gap > s.Every*3/2 {
			s.Skipped += int((gap+s.Every/2)/s.Every) - 1
		}
		s.intervals[s.seen%recentRenewals] = gap
		s.seen++
		known := slices.Sorted(slices.Values(s.intervals[:min(s.seen, recentRenewals)]))
		s.Every = known[len(known)/2]
	}
	s.Count++
	s.Last, s.TTL, s.until = c.is.ReadAt, until.Sub(c.is.ReadAt), until
}

// LongestTTL is the longest TTL seen on a Redis lock, in this version or an earlier one; 0 if
// none.
func (l *Lock) LongestTTL() time.Duration { return max(l.Observed.LongestTTL, longestTTL(l)) }

// longestTTL is the longest TTL in a version of a lock.
func longestTTL(l *Lock) time.Duration {
	var longest time.Duration
	for _, m := range l.Masters {
		if !m.ExpiresAt.IsZero() {
			longest = max(longest, m.ExpiresAt.Sub(l.ReadAt))
		}
	}
	for i := range l.Holders {
		if at := l.Holders[i].ExpiresAt; !at.IsZero() {
			longest = max(longest, at.Sub(l.ReadAt))
		}
	}
	return longest
}

// durations summarises how long something took, and keeps the latest values.
type durations struct {
	count int
	last  []time.Duration
	max   time.Duration
}

// lastDurations is how many values a 99th percentile needs.
const lastDurations = 100

func (d *durations) add(took time.Duration) {
	took = max(0, took)
	d.count++
	d.max = max(d.max, took)
	d.last = append(d.last[max(0, len(d.last)+1-lastDurations):], took)
}

func (d *durations) spans() Spans {
	s := Spans{Count: d.count, Max: d.max}
	if sorted := slices.Sorted(slices.Values(d.last)); len(sorted) > 0 {
		at := func(percent int) time.Duration { return sorted[(len(sorted)*percent+99)/100-1] } // nearest rank
		s.P50, s.P99 = at(50), at(99)
	}
	return s
}

// Expectation is an operator's knowledge about some locks that the servers do not show.
type Expectation struct {
	// Match is a glob for lock ids, BACKEND:PATH, as for SCAN: * is any text, ? any byte, [a-z] a
	// range.
	Match string
	// Hold is the longest time that they are usually held; 0 if not given.
	Hold time.Duration
	// Election means that the holder leads, and should hold for as long as it lives.
	Election bool
}

// Expect sets the expectations on locks. If several match a lock, each value comes from the first
// that sets it. Call it before Run.
func (o *Observer) Expect(list []Expectation) { o.expectations = list }

// expect applies the expectations to a lock.
func (o *Observer) expect(l *Lock) {
	if len(o.expectations) == 0 {
		return
	}
	id := l.ID.String()
	for _, e := range o.expectations {
		if !text.Glob(e.Match, id) {
			continue
		}
		l.ExpectedHold = cmp.Or(l.ExpectedHold, e.Hold)
		if e.Election && (l.Kind == KindMutex || l.Kind == KindRedlock || l.Kind == KindElection) {
			l.Kind, l.KindConfidence = KindElection, recipe.Certain
		}
	}
}

// usualHolds is the number of complete holds that make their 99th percentile useful.
const usualHolds = 20

// UsualHold is the longest time that a lock is usually held. It is the configured expectation or,
// if learnt, the 99th percentile of the holds that we saw begin and end. It is 0 while we have
// seen fewer than 20.
func (l *Lock) UsualHold() (usual time.Duration, learnt bool) {
	switch {
	case l.ExpectedHold > 0:
		return l.ExpectedHold, false
	case l.Observed.History != nil && l.Observed.History.Holds.Count >= usualHolds:
		return l.Observed.History.Holds.P99, true
	}
	return 0, false
}
