package node

import "time"

// Limit is a rate limit by the generic cell rate algorithm (ITU-T I.371). Its whole state is one
// time, which is zero before anything is spent. Without Every, there is no limit.
type Limit struct {
	Every time.Duration
	Burst int
}

// Ready returns the earliest time at which the next unit may be spent.
func (l Limit) Ready(spent, now time.Time) time.Time {
	if at := spent.Add(-l.Every * time.Duration(l.Burst-1)); l.Every > 0 && at.After(now) {
		return at
	}
	return now
}

// Spend returns the new state after n more units are spent.
func (l Limit) Spend(spent, now time.Time, n int) time.Time {
	if spent.Before(now) {
		spent = now
	}
	return spent.Add(l.Every * time.Duration(n))
}

// Room returns how many units may be spent now.
func (l Limit) Room(spent, now time.Time) int {
	if spent.Before(now) {
		spent = now
	}
	return max(0, l.Burst-int((spent.Sub(now)+l.Every-1)/l.Every))
}

// Slowed returns the limit at half the rate.
func (l Limit) Slowed() Limit { return Limit{Every: 2 * l.Every, Burst: (l.Burst + 1) / 2} }
