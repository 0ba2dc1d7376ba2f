package zksource

import "time"

// clock estimates how far the servers' clock is ahead of ours: a node was created, by the servers' clock, before we
// heard of it, so the least of what our clock showed minus its creation time is the closest bound. It is renewed from
// time to time, since clocks drift.
type clock struct {
	least, older time.Duration
	known        bool
	since        time.Time
}

// window is the time after which a bound is replaced, since clocks drift; it serves for this window and the next.
const window = 10 * time.Minute

// created takes in a creation that was seen live.
func (c *clock) created(seen, ctime time.Time) {
	age := seen.Sub(ctime)
	if !c.known {
		c.least, c.older, c.known, c.since = age, age, true, seen
		return
	}
	if seen.Sub(c.since) > window {
		c.older, c.least, c.since = c.least, age, seen
		return
	}
	c.least = min(c.least, age)
}

// offset is the servers' clock minus ours.
func (c *clock) offset() time.Duration { return -min(c.least, c.older) }
