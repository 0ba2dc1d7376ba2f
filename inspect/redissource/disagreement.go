package redissource

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// disputeAsks is how often masters that disagree are asked again without a push, since one push may
// be late. A rule needs two reads inspect.SettleFor apart, neither of them while the votes may just
// have been set. The first read may be too early, and so may the second, since an expiry is known
// only to within a few ms.
const disputeAsks = 3

// askAgain returns when to ask masters that disagree again; zero if not needed.
func (e *entry) askAgain() time.Time {
	if e.lock == nil || e.confirmed >= disputeAsks || !disputed(e.lock) {
		return time.Time{}
	}
	return e.lock.ReadAt.Add(inspect.SettleFor + afterExpiry)
}

// confirm counts a confirmation once all answering masters were read again, and reports whether
// it did.
func (e *entry) confirm() bool {
	at := e.askAgain()
	if at.IsZero() || slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Up && v.ReadAt.Before(at) }) {
		return false
	}
	e.confirmed++
	return true
}

// disputed reports whether some masters vote for a value and others do not.
func disputed(l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Masters, func(m inspect.Vote) bool { return m.Up && m.Present }) &&
		slices.ContainsFunc(l.Masters, func(m inspect.Vote) bool { return m.Up && !m.Agrees })
}
