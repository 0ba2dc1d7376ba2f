package lockops

import (
	"context"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/suspend"
)

// clock times a session's leases and waits. Its instants have a monotonic reading, and compare with those at
// which requests were sent. That reading leaves out the time during which the machine was suspended. It is
// added, since the servers' clocks went on.
//
// Timers and the deadlines of connections use the process's own clock. The code that they wake checks this one; if
// it is ahead, the process was stopped.
type clock struct {
	now       func() time.Time
	suspended func() time.Duration // total since boot; always 0 where the system does not count it
}

func processClock() clock { return clock{time.Now, suspend.Total} }

func (c clock) since(at time.Time) time.Duration { return c.now().Sub(at) }

func (c clock) until(at time.Time) time.Duration { return at.Sub(c.now()) }

// before reports whether an instant is yet to come.
func (c clock) before(at time.Time) bool { return c.now().Before(at) }

// pause waits for news or for the time to look; it ends with an error when ctx or the session does.
func pause(ctx, session context.Context, wait time.Duration, news <-chan struct{}) error {
	select {
	case <-news:
		return nil
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return because(ctx)
	case <-session.Done():
		return ErrClosed
	}
}

// sleepClock corrects deadlines for the time that the machine was suspended. Meanwhile Go's
// monotonic clock and its timers stop, but the servers' clocks go on.
type sleepClock struct {
	clock clock

	mu     sync.Mutex
	total  time.Duration // of suspension, as last read
	sleeps []suspension  // oldest first
}

// suspension is one increase of the total, and when it was noticed.
type suspension struct {
	noticed time.Time
	slept   time.Duration
}

const (
	// sleepNoise is less than what counts as a suspension: two clocks are read one after the other.
	sleepNoise = 5 * time.Millisecond
	// sleepsKept is the number of suspensions that are remembered one by one; the oldest are added to the next.
	sleepsKept = 64
)

func newSleepClock(c clock) *sleepClock { return &sleepClock{clock: c, total: c.suspended()} }

// look notices a suspension, and returns the total.
func (c *sleepClock) look() time.Duration {
	total := c.clock.suspended()
	c.mu.Lock()
	defer c.mu.Unlock()
	if grown := total - c.total; grown > sleepNoise {
		c.total = total
		c.sleeps = append(c.sleeps, suspension{c.clock.now(), grown})
		if len(c.sleeps) > sleepsKept {
			c.sleeps[1].slept += c.sleeps[0].slept
			c.sleeps = c.sleeps[1:]
		}
	}
	return c.total
}

// now is the instant of a sending. Suspensions before it are noticed first, and do not shorten what counts from it.
func (c *sleepClock) now() time.Time {
	c.look()
	return c.clock.now()
}

// correct moves a deadline, which counts from an instant, back by the suspensions since then.
func (c *sleepClock) correct(since, deadline time.Time) time.Time {
	c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.sleeps) - 1; i >= 0 && since.Before(c.sleeps[i].noticed); i-- {
		deadline = deadline.Add(-c.sleeps[i].slept)
	}
	return deadline
}
