package inspect

import (
	"slices"
	"time"
)

// LeaderClock is the clock that dates the entries on a ZooKeeper backend: that of its leader or
// only server. The zero value, as for Redis, leaves times unchanged.
type LeaderClock struct {
	// Offset is that clock minus ours, right to Within; meaningful when Known. Else it is 0, or by how much
	// at least that clock is ahead of ours.
	Offset, Within time.Duration
	Known          bool
	// From is the first transaction that is known to be dated by it. Those before were dated by another
	// leader, or by this one before its clock stepped.
	From int64
	// Oldest and Newest are the earliest and the latest instant by it that are known; zero: none.
	Oldest, Newest time.Time
}

func (k *LeaderClock) isZero() bool { return !k.Known && k.Newest.IsZero() && k.From == 0 }

// Dates reports whether what a transaction made can be dated by our clock: the clock that dated it is known.
func (b *Backend) Dates(czxid int64) bool {
	return b == nil || b.Clock.isZero() || b.Clock.Known && czxid >= b.Clock.From
}

// AgeAtLeast is for how long, at least, an instant of the backend's is past that dates what a transaction
// made. Where the clock is not known that rests on it alone: on what else it has dated since.
func (b *Backend) AgeAtLeast(instant time.Time, czxid int64, now time.Time) time.Duration {
	if b == nil || b.Clock.isZero() {
		return max(0, now.Add(b.ClockOffset()).Sub(instant))
	}
	k := &b.Clock
	if czxid < k.From { // it was there before all that this clock has dated
		if instant = k.Oldest; instant.IsZero() {
			return 0
		}
	}
	least := k.Newest.Sub(instant)
	if k.Known {
		least = max(least, now.Add(k.Offset-k.Within).Sub(instant))
	}
	return max(0, least)
}

// ClockOffset is the backend's clock minus ours: of ZooKeeper its leader's, else that of its first server
// whose clock is known; 0 where that is not known, or by how much it is ahead at least.
func (b *Backend) ClockOffset() time.Duration {
	if b == nil {
		return 0
	}
	if !b.Clock.isZero() {
		return b.Clock.Offset
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; s.ClockKnown {
			return s.ClockOffset
		}
	}
	return 0
}

// clockOf is one of its servers' clock minus ours; false where that is not known, and the backend's is taken for it.
func (b *Backend) clockOf(server string) (time.Duration, bool) {
	if b == nil {
		return 0, false
	}
	for i := range b.Servers {
		if s := &b.Servers[i]; s.Addr == server && s.ClockKnown {
			return s.ClockOffset, true
		}
	}
	return b.ClockOffset(), len(b.Servers) == 1 && b.ClockKnown()
}

// ClockKnown reports whether ClockOffset is known and not only taken for 0.
func (b *Backend) ClockKnown() bool {
	if b == nil || !b.Clock.isZero() {
		return b != nil && b.Clock.Known
	}
	return slices.ContainsFunc(b.Servers, func(s Server) bool { return s.ClockKnown })
}
