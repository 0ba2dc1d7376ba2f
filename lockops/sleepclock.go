package lockops

import (
	"sync"
	"time"
)

// sleepClock corrects deadlines for the time that the machine was suspended: Go's monotonic clock, and so its timers, stand
// still meanwhile, while the servers' clocks go on.
type sleepClock struct {
	clock clock

	mu      sync.Mutex
	total   time.Duration // of suspension, as last read
	noticed time.Time     // of the last growth, with its amount
	slept   time.Duration
}

// sleepNoise is less than what counts as a suspension: two clocks are read one after the other.
const sleepNoise = 5 * time.Millisecond

func newSleepClock(c clock) *sleepClock { return &sleepClock{clock: c, total: c.suspended()} }

// look notices a suspension.
func (c *sleepClock) look() {
	total := c.clock.suspended()
	c.mu.Lock()
	defer c.mu.Unlock()
	if grown := total - c.total; grown > sleepNoise {
		c.total, c.slept, c.noticed = total, grown, c.clock.now()
	}
}

// correct takes off a deadline, which counts from an instant, what the machine has been suspended since then.
func (c *sleepClock) correct(since, deadline time.Time) time.Time {
	c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	if since.Before(c.noticed) {
		return deadline.Add(-c.slept)
	}
	return deadline
}
