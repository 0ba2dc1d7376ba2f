package zksource

import "time"

// bounds of a server's clock minus ours, as they were at an instant.
type bounds struct {
	low, high time.Duration
	at        time.Time
	known     bool
	atLow     bool // the truth is most likely next to low
}

// readBetween bounds a clock that showed an instant, cut to a unit, between two of ours.
func readBetween(shown time.Time, unit time.Duration, from, to time.Time) bounds {
	return bounds{low: shown.Sub(to.Round(0)), high: shown.Add(unit).Sub(from.Round(0)), at: to, known: true}
}

// middle is 0 where the two clocks may be the same: within a round trip they mostly are, and what is computed does not jitter.
func (b bounds) middle() time.Duration {
	switch {
	case b.low <= 0 && b.high >= 0:
		return 0
	case b.atLow:
		return b.low
	}
	return b.low + (b.high-b.low)/2
}

// within is the tolerance of middle.
func (b bounds) within() time.Duration { return max(b.high-b.middle(), b.middle()-b.low) }

// apart is the gap between the two, zero where they overlap.
func (b bounds) apart(o bounds) time.Duration { return max(0, b.low-o.high, o.low-b.high) }

// with narrows bounds by others that are as old. Of two that contradict each other the newer ones count.
func (b bounds) with(o bounds) bounds {
	switch {
	case !o.known, b.known && b.apart(o) > 0 && b.at.After(o.at):
		return b
	case !b.known, b.apart(o) > 0:
		return o
	}
	if b.low > o.low {
		b, o = o, b // the low of the two is o's
	}
	both := bounds{low: o.low, high: min(b.high, o.high), at: b.at, known: true, atLow: o.atLow}
	if o.at.After(b.at) {
		both.at = o.at
	}
	return both
}

// against joins the date of an answer with what our own connection shows, which is the server's own word, but as old as that. A proxy
// before the AdminServer may give a date of its own.
func (b bounds) against(connection bounds, now time.Time) bounds {
	switch {
	case !b.known || !connection.known || b.apart(connection) <= agreed:
		return b.with(connection)
	case now.Sub(connection.at) <= window:
		return connection
	}
	return bounds{} // either the date is not the server's, or its clock was set: a connection that is made now shows which
}

// hull allows what either does, so that it holds for both clocks.
func (b bounds) hull(o bounds) bounds {
	return bounds{low: min(b.low, o.low), high: max(b.high, o.high), at: b.at, known: b.known && o.known}
}

// shift is for a clock of ours that was set ahead. The instant stays: its monotonic part does not go with the wall clock.
func (b bounds) shift(by time.Duration) bounds {
	b.low, b.high = b.low-by, b.high-by
	return b
}
