package redissource

import (
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// disputeAsks times, masters that do not agree are asked again although nothing was pushed: the news of one may
// be late. A rule wants two readings inspect.SettleFor apart, and neither while the votes may just have been
// set: the first reading and, for an expiry that is known to a few ms, the second may be that.
const disputeAsks = 3

// askAgain returns the time to ask the masters again, since they do not agree; zero: no need.
func (e *entry) askAgain() time.Time {
	if e.lock == nil || e.confirmed >= disputeAsks || !disputed(e.lock) {
		return time.Time{}
	}
	return e.lock.ReadAt.Add(inspect.SettleFor + afterExpiry)
}

// confirm asks again whether all answering masters still say the same, and counts it.
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
