package redissource

import "time"

// limit is a rate limit as the generic cell rate algorithm has it (ITU-T I.371): all that it has to remember of what
// was spent is one instant. The zero instant is that nothing was.
type limit struct {
	every time.Duration
	burst int
}

// ready returns the time at which the next may be spent: now or later.
func (l limit) ready(spent, now time.Time) time.Time {
	if at := spent.Add(-l.every * time.Duration(l.burst-1)); at.After(now) {
		return at
	}
	return now
}

// spend is the instant to remember once n more are spent.
func (l limit) spend(spent, now time.Time, n int) time.Time {
	if spent.Before(now) {
		spent = now
	}
	return spent.Add(l.every * time.Duration(n))
}

// room counts those that may be spent now.
func (l limit) room(spent, now time.Time) int {
	if spent.Before(now) {
		spent = now
	}
	return max(0, l.burst-int((spent.Sub(now)+l.every-1)/l.every))
}

// slowed is the limit at half the rate.
func (l limit) slowed() limit { return limit{every: 2 * l.every, burst: (l.burst + 1) / 2} }
