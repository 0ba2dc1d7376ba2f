package contend

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/internal/fairness"
)

// ledger computes the figures of a run from its events. It has no clock and no lock: the caller passes
// the times, and serializes the calls.
type ledger struct {
	permits int
	lanes   []lane
	began   time.Time
	ended   time.Time
	changed time.Time // the last event

	arrivals uint64 // calls of Acquire so far
	holders  holders
	freed    []time.Time // releases with a waiter and no grant since, oldest first
	unplaced int         // waiters with an unknown place
	past     []pastGrant
	byCall   bool // some arrival is ordered by its call
	token    uint64

	grants, inversions, overlaps, tokensBack, lost, failed uint64
	handoff, wait                                          spread
	longest                                                time.Duration
	longestBy                                              int
	lastError                                              error
}

// lane has one contender's figures.
type lane struct {
	Contender
	shared  bool
	queued  time.Time
	arrival uint64 // number of its call of Acquire
	placed  bool
	place   int64 // in the servers' order of arrival
	overlap bool  // its current grant was counted as an overlap
}

// holders counts the current holders.
type holders struct{ exclusive, shared int }

// excludes reports whether a grant is an overlap with these holders.
func (h holders) excludes(shared bool, permits int) bool {
	if shared {
		return h.exclusive > 0
	}
	return h.shared > 0 || h.exclusive >= permits
}

func (h *holders) add(shared bool, n int) {
	if shared {
		h.shared += n
	} else {
		h.exclusive += n
	}
}

// pastGrant is a grant that may turn out to have overtaken a waiter whose place is still unknown.
type pastGrant struct {
	claim    fairness.Claim
	arrivals uint64 // number of arrivals before the grant
}

// maxPast bounds the remembered grants; later ones count as fair.
const maxPast = 4096

func newLedger(shared []bool, permits int) *ledger {
	l := &ledger{
		permits: max(permits, 1), lanes: make([]lane, len(shared)), handoff: newSpread(), wait: newSpread(),
		longestBy: -1,
	}
	for i := range shared {
		l.lanes[i].shared = shared[i]
	}
	return l
}

func (l *ledger) begin(at time.Time) {
	l.began, l.changed = at, at
	for i := range l.lanes {
		l.lanes[i].Since = at
	}
}

func (l *ledger) turn(i int, s State, at time.Time) *lane {
	c := &l.lanes[i]
	if c.State == Waiting && s != Waiting {
		l.waited(i, at.Sub(c.queued))
		if !c.placed {
			l.unplaced--
			l.forget()
		}
	}
	c.State, c.Since, l.changed = s, at, at
	return c
}

func (l *ledger) waited(i int, d time.Duration) {
	c := &l.lanes[i]
	c.LongestWait = max(c.LongestWait, d)
	if l.longestBy < 0 || d > l.longest {
		l.longest, l.longestBy = d, i
	}
}

// forget drops past grants once they can no longer have overtaken a waiter.
func (l *ledger) forget() {
	if l.unplaced == 0 {
		l.past = l.past[:0]
	}
}

// queue records that a contender asks for the lock.
func (l *ledger) queue(i int, at time.Time) {
	c := l.turn(i, Waiting, at)
	l.arrivals++
	c.queued, c.arrival, c.placed = at, l.arrivals, false
	l.unplaced++
}

// arrive records a waiter's place in the servers' order, again if it had to queue again.
func (l *ledger) arrive(i int, place int64) {
	c := &l.lanes[i]
	if c.State != Waiting {
		return
	}
	if !c.placed {
		c.placed = true
		l.unplaced--
	}
	c.place = place
	kept := l.past[:0]
	for _, g := range l.past {
		if g.arrivals >= c.arrival && g.claim.Overtakes(c.claim()) {
			l.inversions++
			continue
		}
		kept = append(kept, g)
	}
	l.past = kept
	l.forget()
}

func (c *lane) claim() fairness.Claim { return fairness.Claim{Place: c.place, Shared: c.shared} }

// grant records a grant.
func (l *ledger) grant(i int, at time.Time) Event {
	c := &l.lanes[i]
	if !c.placed {
		l.byCall = true
		l.arrive(i, c.queued.UnixMicro())
	}
	wait := at.Sub(c.queued)
	l.turn(i, Holding, at)
	l.grants++
	c.Grants++
	l.wait.add(wait)
	if len(l.freed) > 0 {
		l.handoff.add(at.Sub(l.freed[0]))
		l.freed = l.freed[1:]
	}
	overtook := l.overtakes(i)
	switch {
	case overtook:
		l.inversions++
	case l.unplaced > 0 && len(l.past) < maxPast:
		l.past = append(l.past, pastGrant{c.claim(), l.arrivals})
	}
	c.overlap = l.holders.excludes(c.shared, l.permits)
	if c.overlap {
		l.overlaps++
	}
	l.holders.add(c.shared, 1)
	return Event{Kind: Granted, Contender: i, At: at, Wait: wait, Overtook: overtook, Overlap: c.overlap}
}

// overtakes reports whether a grant to contender i, which no longer waits, overtakes a waiter.
func (l *ledger) overtakes(i int) bool {
	var waiters []fairness.Claim
	for j := range l.lanes {
		if o := &l.lanes[j]; o.State == Waiting && o.placed {
			waiters = append(waiters, o.claim())
		}
	}
	return len(fairness.Overtaken(l.lanes[i].claim(), waiters, l.permits-l.holders.exclusive-1)) > 0
}

// fence records the fencing token of contender i, which holds the lock. It must be greater than all
// previous ones. Contenders that may hold the lock together can show theirs in any order.
func (l *ledger) fence(i int, token uint64) {
	c := &l.lanes[i]
	if c.shared || l.permits > 1 {
		return
	}
	if token > l.token {
		l.token = token
		return
	}
	l.tokensBack++
	if !c.overlap {
		l.overlaps++
	}
}

// release records the start of a release. handsOver is set if it frees the lock for a waiter.
func (l *ledger) release(i int, at time.Time, handsOver bool) Event {
	c := &l.lanes[i]
	c.Held += at.Sub(c.Since)
	l.turn(i, Releasing, at)
	l.holders.add(c.shared, -1)
	if handsOver && l.anyWaits() {
		l.free(at)
	}
	return Event{Kind: Released, Contender: i, At: at}
}

func (l *ledger) anyWaits() bool {
	return slices.ContainsFunc(l.lanes, func(n lane) bool { return n.State == Waiting })
}

// lose records the loss of a hold.
func (l *ledger) lose(i int, at time.Time, err error) Event {
	l.lanes[i].Lost++
	l.lost++
	l.lastError, l.changed = err, at
	return Event{Kind: Lost, Contender: i, At: at, Err: err}
}

// free records a release that starts a handoff. If a grant needs several releases, such as those of readers, the last
// one counts.
func (l *ledger) free(at time.Time) {
	if len(l.freed) == l.permits {
		l.freed = l.freed[1:]
	}
	l.freed = append(l.freed, at)
}

// fail records the failure of an acquire or a release.
func (l *ledger) fail(i int, at time.Time, err error) Event {
	if l.lanes[i].State == Waiting {
		l.turn(i, Thinking, at)
	}
	l.lanes[i].Failed++
	l.failed++
	l.lastError, l.changed = err, at
	return Event{Kind: Failed, Contender: i, At: at, Err: err}
}

// think records the start of a contender's pause.
func (l *ledger) think(i int, at time.Time) { l.turn(i, Thinking, at) }

// leave records the end of a contender.
func (l *ledger) leave(i int, at time.Time) { l.turn(i, Done, at) }

// stuck returns the time since the last event while all remaining contenders wait for the servers,
// else 0.
func (l *ledger) stuck(at time.Time) time.Duration {
	waits := false
	for i := range l.lanes {
		switch l.lanes[i].State {
		case Thinking, Holding:
			return 0
		case Waiting, Releasing:
			waits = true
		}
	}
	if !waits {
		return 0
	}
	return at.Sub(l.changed)
}

// figures returns a report with the ledger's figures, and copies of the spreads for its quantiles.
func (l *ledger) figures(at time.Time) (r Report, handoff, wait spread) {
	r = Report{
		Ended: !l.ended.IsZero(), Grants: l.grants, LongestWait: l.longest, LongestWaiter: l.longestBy,
		Inversions: l.inversions, Overlaps: l.overlaps, TokensBack: l.tokensBack, Lost: l.lost, Failed: l.failed,
		LastError: l.lastError, Contenders: make([]Contender, len(l.lanes)),
	}
	if r.Ended {
		at = l.ended
	}
	if !l.began.IsZero() {
		r.Duration = at.Sub(l.began)
	}
	for i := range l.lanes {
		c := &l.lanes[i]
		r.Contenders[i] = c.Contender
		if c.State == Waiting {
			d := at.Sub(c.queued)
			r.Contenders[i].LongestWait = max(c.LongestWait, d)
			if r.LongestWaiter < 0 || d > r.LongestWait {
				r.LongestWait, r.LongestWaiter = d, i
			}
		}
		if c.State == Holding {
			r.Contenders[i].Held += at.Sub(c.Since)
		}
	}
	return r, l.handoff.copy(), l.wait.copy()
}
