package redissource

import (
	"slices"
	"time"

	"lockscope/inspect"
)

// dispute of the masters about a key. They are asked again when it has stood for a while, although nothing was
// pushed: a master of which the news are late may have changed long since.
type dispute struct {
	askAt   time.Time // when to ask them again; zero: no need
	askedAt time.Time // when they were; zero: not yet, or all have answered
	asked   int       // how often
}

// disputeAsks times, as a rule wants two readings inspect.SettleFor apart, and neither while the votes may
// just have been set: the first reading and, for an expiry that is known to a few ms, the second may be that.
const disputeAsks = 3

// of takes in a newer version of the lock.
func (d *dispute) of(l *inspect.Lock) {
	*d = dispute{}
	if disputed(l) {
		d.askAt = l.ReadAt.Add(inspect.SettleFor + afterExpiry)
	}
}

// due reports whether the masters are to be asked again now, and notes that they are.
func (d *dispute) due(now time.Time) bool {
	if d.askAt.IsZero() || d.askAt.After(now) {
		return false
	}
	d.askAt, d.askedAt = time.Time{}, now
	if d.asked++; d.asked < disputeAsks {
		d.askAt = now.Add(inspect.SettleFor + afterExpiry)
	}
	return true
}

// confirmed reports whether all masters that answer have been asked again.
func (d *dispute) confirmed(votes []inspect.Vote) bool {
	if d.askedAt.IsZero() {
		return false
	}
	for i := range votes {
		if votes[i].Up && votes[i].ReadAt.Before(d.askedAt) {
			return false
		}
	}
	d.askedAt = time.Time{}
	return true
}

// disputed reports whether some masters vote for a value and others do not.
func disputed(l *inspect.Lock) bool {
	return slices.ContainsFunc(l.Masters, func(m inspect.Vote) bool { return m.Up && m.Present }) &&
		slices.ContainsFunc(l.Masters, func(m inspect.Vote) bool { return m.Up && !m.Agrees })
}
