package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// expirySlack is the tolerance of a Redis key's computed expiry: half a round trip and clock
// rounding.
const expirySlack = 50 * time.Millisecond

// view holds how a change between two versions of a lock was seen.
type view struct {
	// at is the time of the newer version, by our clock.
	at time.Time
	// first is set if the lock was found in the first pass over its backend, so its contenders are
	// not new.
	first bool
	// blindFrom is the time, by our clock, at which we lost sight between the two versions; zero
	// if we did not.
	blindFrom time.Time
	// unseenSince is when, by our clock, the lock was last seen in its old state, if nothing
	// reported the change; else zero.
	unseenSince time.Time
	// withdrawn is set if the entry turned out not to be a lock. Its holds and waits have not
	// ended.
	withdrawn bool
	// isKey is set if the lock is a Redis key.
	isKey bool
	// These may be nil. Three are about a holder that left. forced reports whether this program
	// forced it out, sessionEnded whether its session is known to be gone, and sessionLived whether
	// that cannot have expired. restarted reports whether the master of a vote in the previous
	// version started after the vote was read.
	forced       func(Untrusted) bool
	sessionEnded func(*Contender) bool
	sessionLived func(*Contender) bool
	restarted    func(Vote) bool
	// unheardSince returns the time since which a holder's client has been silent if it may have
	// died unseen. It may be nil.
	unheardSince func(*Contender) time.Time
}

// MostLate is the longest gap between two looks at a lock for which the second look dates a change.
const MostLate = 2 * time.Second

// late reports whether the change was not reported and the last look is too old to date it.
func (v *view) late() bool { return lateSight(v.unseenSince, v.at) }

func lateSight(unseenSince, at time.Time) bool {
	return !unseenSince.IsZero() && at.Sub(unseenSince) > MostLate
}

func (v *view) unheard(c *Contender) time.Time {
	if v.unheardSince == nil {
		return time.Time{}
	}
	return v.unheardSince(c)
}

func (v *view) mayHaveRunOut(c *Contender) bool {
	return c.Owner.Session != 0 && v.sessionLived != nil && !v.sessionLived(c)
}

func (v *view) blind() bool { return !v.blindFrom.IsZero() }

// MostUnseen is the longest gap between a key's last sighting and its expiry time for its end to
// count as expiry.
const MostUnseen = 500 * time.Millisecond

// compare reports what happened between two versions of a lock. was is nil for a new lock, is for
// one that is gone. A version that could not be read proves nothing; the caller compares the ones
// around it.
func compare(was, is *Lock, v view) []Event {
	if was != nil {
		v.isKey = was.Masters != nil
	}
	unsureKind := was.mayQueueForPermits() || is.mayQueueForPermits()
	events := changes(was, is, v)
	for i := range events {
		e := &events[i]
		if e.Certainty = certaintyOf(e, v); unsureKind && e.Contender != nil && e.Certainty != CertaintyUnknown {
			e.Certainty = recipe.Possible // the first in that queue has no permit yet
		}
		blind := v.blind() && slices.Contains([]EventKind{EventEnded, EventAcquired, EventGone, EventWaiting}, e.Kind)
		switch {
		case blind:
			e.Between = Interval{v.blindFrom, v.at}
			if !v.unseenSince.IsZero() && v.unseenSince.Before(v.blindFrom) {
				e.Between.From = v.unseenSince
			}
		case e.Kind == EventEnded, e.Kind == EventExpired, e.Kind == EventForced: // their times are known
		case v.late():
			e.Between = Interval{v.unseenSince, v.at}
		}
	}
	return events
}

// mayQueueForPermits reports whether the lock, which may be nil, is a mutex that could be the
// queue of a semaphore.
func (l *Lock) mayQueueForPermits() bool {
	return l != nil && l.Kind == KindMutex && l.KindConfidence == recipe.Possible && mayQueueForPermits(l.ID, l.Recipe)
}

// certaintyOf grades an event's kind, since different kinds of ends can look alike.
func certaintyOf(e *Event, v view) recipe.Confidence {
	switch e.Kind {
	case EventEnded:
		return CertaintyUnknown
	case EventExpired:
		if !v.unseenSince.IsZero() {
			return recipe.Likely // or it was released just before
		}
	case EventReleased:
		if v.isKey || v.mayHaveRunOut(e.Contender) {
			return recipe.Likely // RENAME and any client's DEL look the same
		}
	case EventHandover:
		if v.late() {
			return recipe.Likely // others may have held it between the two
		}
	case EventGone:
		switch {
		case e.Contender == nil:
		case v.blind():
			return CertaintyUnknown
		default:
			return recipe.Likely // or its turn came and went between two looks
		}
	}
	return recipe.Certain
}

func changes(was, is *Lock, v view) []Event {
	switch {
	case was == nil && v.first:
		return nil
	case was == nil:
		events := []Event{{Kind: EventAppeared, At: v.at, Lock: is.ID}}
		events = append(events, granted(&Lock{}, is, nil, v)...)
		return append(events, joined(&Lock{}, is, v)...)
	case is == nil && v.withdrawn:
		return []Event{{Kind: EventGone, At: v.at, Lock: was.ID}}
	case is == nil:
		_, events := ended(was, &Lock{ID: was.ID}, v)
		return append(events, Event{Kind: EventGone, At: v.at, Lock: was.ID})
	case was.State == StateUnknown || is.State == StateUnknown || misread(was, is):
		return nil
	default:
		left, events := ended(was, is, v)
		events = append(events, granted(was, is, left, v)...)
		events = append(events, gaveUp(was, is, v)...)
		return append(events, joined(was, is, v)...)
	}
}

// index finds contenders by name, and reports whether the one found is the same entry. For a name
// that both holds and waits it finds the hold.
type index map[Untrusted]*Contender

func indexOf(l *Lock) index {
	x := make(index, l.Contention())
	for c := range l.Contenders {
		if x[c.Name] == nil {
			x[c.Name] = c
		}
	}
	return x
}

func (x index) same(c *Contender) (*Contender, bool) {
	other, ok := x[c.Name]
	return other, ok && same(other, c)
}

// ended reports the holders that are no longer in the lock, and returns them.
func ended(was, is *Lock, v view) (left []*Contender, events []Event) {
	now := indexOf(is)
	for i := range was.Holders {
		h := &was.Holders[i]
		if _, still := now.same(h); still {
			continue // one that waits now was misread as a holder before
		}
		left = append(left, h)
		e := Event{Kind: howEnded(was, is, h, v), At: v.at, Lock: was.ID, Contender: h}
		switch {
		case e.Kind == EventReleased && takenByServer(was, is, h, v):
			e.Kind = EventEnded
			if v.late() {
				e.Between = Interval{v.unseenSince, v.at}
			}
		case e.Kind == EventEnded:
			e.Between = Interval{cmp.Or(v.unseenSince, v.unheard(h), was.agreedAt()), v.at}
		}
		events = append(events, e)
	}
	return left, events
}

func howEnded(was, is *Lock, h *Contender, v view) EventKind {
	switch {
	case v.forced != nil && v.forced(h.Name):
		return EventForced
	case v.blind():
		return EventEnded // a session that is gone now may have released it before
	case v.sessionEnded != nil && v.sessionEnded(h):
		return EventExpired
	case !h.ExpiresAt.IsZero() && !v.at.Before(h.ExpiresAt.Add(-expirySlack)):
		if !v.unseenSince.IsZero() && v.unseenSince.Before(h.ExpiresAt.Add(-MostUnseen)) {
			return EventEnded // it may have been released before
		}
		return EventExpired
	case !v.unheard(h).IsZero():
		return EventEnded // it was released, or its session expired while its server was gone
	default:
		return EventReleased
	}
}

// takenByServer reports whether a holder may have lost its quorum without giving it up. Then the
// next holder did not get it by a handoff, and both may work. It checks for masters that voted for
// the holder and lost its key by a restart or for an unknown reason. It would have a quorum with
// those and the masters that still have the key. If these are too few for a quorum, it gave up the
// key on the others. Several holders have a quorum each, so another holder's key does not count for
// this one.
func takenByServer(was, is *Lock, h *Contender, v view) bool {
	gone, left := 0, 0
	for i := range was.Masters {
		before := &was.Masters[i]
		now := is.voteOf(before.Addr)
		// the address changes as its slot moves, or another takes its place
		if len(was.Masters) == 1 && len(is.Masters) == 1 {
			now = &is.Masters[0]
		}
		switch {
		case !before.Agrees, now == nil, !before.counts(h):
		case !now.Up, now.Unknown(AspectHolders): // it may be there
			left++
		case now.Unsure, !now.Present && v.restarted != nil && v.restarted(*before):
			gone++
		case before.Held != nil && !now.counts(h):
		case slices.ContainsFunc(ballotsOf(*now),
			func(b ballot) bool { return slices.Contains(ballotsOf(*before), b) }):
			left++
		}
	}
	return gone > 0 && gone+left >= was.Quorum
}

// counts reports whether a vote is for a holder. A plain value has only one; a structure must name it.
func (m *Vote) counts(h *Contender) bool {
	return m.Held == nil || slices.Contains(ballotsOf(*m), ballot{value: h.Name})
}

// voteOf returns the vote of the master at an address, or nil.
func (l *Lock) voteOf(addr string) *Vote {
	if i := slices.IndexFunc(l.Masters, func(m Vote) bool { return m.Addr == addr }); i >= 0 {
		return &l.Masters[i]
	}
	return nil
}

// granted reports the contenders that hold now and did not before. left are the holders that left in the same change.
func granted(was, is *Lock, left []*Contender, v view) []Event {
	before := indexOf(was)
	var events []Event
	// a holder that lost its quorum handed nothing on
	left = slices.DeleteFunc(slices.Clone(left), func(h *Contender) bool { return takenByServer(was, is, h, v) })
	handed := 0
	for i := range is.Holders {
		h := &is.Holders[i]
		if old, ok := before.same(h); ok && (old.State == Holding || old.Czxid == 0 && h.Czxid != 0) {
			continue // it held before, or was listed but not read
		}
		e := Event{Kind: EventAcquired, At: v.at, Lock: is.ID, Contender: h}
		if len(left) > 0 && !v.blind() {
			e.Kind, e.Previous = EventHandover, left[min(handed, len(left)-1)]
			handed++
		}
		events = append(events, e)
	}
	return events
}

// joined reports the waiters that were not there before.
func joined(was, is *Lock, v view) []Event {
	before := indexOf(was)
	var events []Event
	for i := range is.Waiters {
		if w := &is.Waiters[i]; !before.has(w) &&
			!(isPermits(is) && w.State == Pending && ofSession(was.Waiters, w) >= 0) {
			events = append(events, Event{Kind: EventWaiting, At: v.at, Lock: is.ID, Contender: w})
		}
	}
	return events
}

// gaveUp reports the waiters that left the queue and were not seen to hold.
func gaveUp(was, is *Lock, v view) []Event {
	now := indexOf(is)
	var events []Event
	for i := range was.Waiters {
		w := &was.Waiters[i]
		if now.has(w) || isPermits(was) && wentOn(is, w) {
			continue
		}
		events = append(events, Event{Kind: EventGone, At: v.at, Lock: is.ID, Contender: w})
	}
	return events
}

// isPermits reports whether a lock is a ZooKeeper semaphore. There a client first has an entry in
// the queue and then the lease that it holds.
func isPermits(l *Lock) bool { return l.Kind == KindSemaphore && l.Masters == nil }

// wentOn reports whether a client that left a semaphore's queue has obtained a lease since. If it
// gave up an ungranted lease, wentOn reports whether it is in the queue again.
func wentOn(is *Lock, w *Contender) bool {
	if w.State == Pending {
		return ofSession(is.Waiters, w) >= 0
	}
	later := func(c *Contender) bool { return c.Czxid > w.Czxid }
	h, p := ofSession(is.Holders, w), ofSession(is.Waiters, w)
	return h >= 0 && later(&is.Holders[h]) || p >= 0 && is.Waiters[p].State == Pending && later(&is.Waiters[p])
}

// ofSession returns the index of the last contender of the same session; -1 if none.
func ofSession(cs []Contender, c *Contender) int {
	for i := len(cs) - 1; i >= 0; i-- {
		if c.Owner.Session != 0 && cs[i].Owner.Session == c.Owner.Session {
			return i
		}
	}
	return -1
}

func (x index) has(c *Contender) bool {
	_, ok := x.same(c)
	return ok
}

// compareFindings reports which findings were raised and cleared. A finding is identified by its
// rule and subject, so a count in its message does not make it new. It counts as new again when it
// becomes more severe.
func compareFindings(was, is []Finding, e Event) []Event {
	if equalFindings(was, is) {
		return nil
	}
	before, now := byKey(was), byKey(is)
	var events []Event
	report := func(kind EventKind, f *Finding) {
		e.Kind, e.Finding, e.Certainty = kind, f, f.Confidence
		events = append(events, e)
	}
	for i := range is {
		if old := before[is[i].Key()]; old == nil || is[i].Severity.Rank() > old.Severity.Rank() {
			report(EventFinding, &is[i])
		}
	}
	for i := range was {
		if now[was[i].Key()] == nil {
			report(EventCleared, &was[i])
		}
	}
	return events
}

// equalFindings reports whether two lists have the same findings in the same order and severity.
// Usually only an age has grown.
func equalFindings(was, is []Finding) bool {
	return slices.EqualFunc(was, is, func(a, b Finding) bool {
		return a.Rule == b.Rule && a.Severity == b.Severity && a.Key() == b.Key()
	})
}

func byKey(fs []Finding) map[string]*Finding {
	m := make(map[string]*Finding, len(fs))
	for i := range fs {
		m[fs[i].Key()] = &fs[i]
	}
	return m
}

func sameFindings(a, b []Finding) bool {
	return slices.EqualFunc(a, b, func(a, b Finding) bool {
		return a.Rule == b.Rule && a.Message == b.Message && a.Severity == b.Severity && a.Confidence == b.Confidence &&
			sameMute(a.Muted, b.Muted) && slices.Equal(a.Steps, b.Steps)
	})
}

// compareBackends reports whether a backend's state or mode changed; was is nil before its first
// report.
func compareBackends(was, is *Backend, at time.Time) []Event {
	if was == nil && is.State == Connected || was != nil && was.State == is.State && was.Mode == is.Mode {
		return nil
	}
	return []Event{{Kind: EventBackend, At: at, Backend: is, Certainty: recipe.Certain}}
}
