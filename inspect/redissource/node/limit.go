package node

import "time"

// Limit is a rate limit as the generic cell rate algorithm has it (ITU-T I.371): all that it has to remember of what
// was spent is one instant. The zero instant is that nothing was.
type Limit struct {
	Every time.Duration
	Burst int
}

// Ready returns the time at which the next may be spent: now or later.
func (l Limit) Ready(spent, now time.Time) time.Time {
	if at := spent.Add(-l.Every * time.Duration(l.Burst-1)); at.After(now) {
		return at
	}
	return now
}

// Spend is the instant to remember once n more are spent.
func (l Limit) Spend(spent, now time.Time, n int) time.Time {
	if spent.Before(now) {
		spent = now
	}
	return spent.Add(l.Every * time.Duration(n))
}

// Room counts those that may be spent now.
func (l Limit) Room(spent, now time.Time) int {
	if spent.Before(now) {
		spent = now
	}
	return max(0, l.Burst-int((spent.Sub(now)+l.Every-1)/l.Every))
}

// Slowed is the limit at half the rate.
func (l Limit) Slowed() Limit { return Limit{Every: 2 * l.Every, Burst: (l.Burst + 1) / 2} }
