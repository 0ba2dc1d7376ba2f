package ensemble

import (
	"time"

	"github.com/lockscope/lockscope/inspect/zkadmin"
)

// bounds limit the difference between a server's clock and ours at a time.
type bounds struct {
	low, high time.Duration
	at        time.Time
	known     bool
	atLow     bool // the true value is most likely near low
}

// readBetween bounds a clock that showed a time, truncated to a unit, between two times of ours.
func readBetween(shown time.Time, unit time.Duration, from, to time.Time) bounds {
	return bounds{low: shown.Sub(to.Round(0)), high: shown.Add(unit).Sub(from.Round(0)), at: to, known: true}
}

// middle is 0 if the two clocks may be the same. Within a round trip they mostly are, and zero keeps
// results from jittering.
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

// apart is the gap between two bounds; zero if they overlap or one is unknown.
func (b bounds) apart(o bounds) time.Duration {
	if !b.known || !o.known {
		return 0
	}
	return max(0, b.low-o.high, o.low-b.high)
}

// with narrows bounds by others of the same age. If they contradict each other, the newer ones
// count.
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

// establishedOn compares a server's clock with ours, which shows now, by our own connection. The
// server reports when it accepted it (est of cons, ServerCnxn's established, in 3.4 to 3.9). The
// result is unknown if we are connected to another server.
func establishedOn(ours Connection, conns []zkadmin.Connection, now time.Time) bounds {
	if ours == nil {
		return bounds{}
	}
	id, _ := ours.Acked()
	from, to, known := ours.Established()
	for _, c := range conns {
		if known && c.Session == id && !c.Established.IsZero() {
			return readBetween(c.Established, time.Millisecond, byClockOf(now, from), byClockOf(now, to))
		}
	}
	return bounds{}
}

// byClockOf returns an earlier time by the wall clock of now. The wall clock may have been set in
// between, but not the monotonic clock.
func byClockOf(now, t time.Time) time.Time { return now.Add(t.Sub(now)) }
