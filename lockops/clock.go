package lockops

import (
	"context"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/suspend"
)

// clock times a session's leases and waits. Its monotonic times can be compared with those of sent
// requests. Go's monotonic clock stops while the machine is suspended; that time is added, since
// the servers' clocks go on. Timers and connection deadlines use the process's own clock. The code
// that they wake checks this clock too, since the process may have been stopped.
type clock struct {
	now       func() time.Time
	suspended func() time.Duration // total since boot; 0 if the system does not count it
}

func processClock() clock { return clock{time.Now, suspend.Total} }

func (c clock) since(at time.Time) time.Duration { return c.now().Sub(at) }

func (c clock) until(at time.Time) time.Duration { return at.Sub(c.now()) }

// before reports whether an instant is in the future.
func (c clock) before(at time.Time) bool { return c.now().Before(at) }

// pause waits until news arrives or the time has passed. It fails when ctx or the session ends.
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

// sleepClock corrects deadlines for suspensions, during which Go's monotonic clock and timers stop
// but the servers' clocks go on.
type sleepClock struct {
	clock clock

	mu     sync.Mutex
	total  time.Duration // of suspension, as last read
	sleeps []suspension  // oldest first
}

type suspension struct {
	noticed time.Time
	slept   time.Duration
}

const (
	// sleepNoise is the jitter of reading two clocks in turn. A smaller jump is not a suspension.
	sleepNoise = 5 * time.Millisecond
	// sleepsKept limits the remembered suspensions; the oldest is added to the next one.
	sleepsKept = 64
)

func newSleepClock(c clock) *sleepClock { return &sleepClock{clock: c, total: c.suspended()} }

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

// now returns the time at which to send a request. It records earlier suspensions first, so that
// they do not shorten deadlines counted from the returned time.
func (c *sleepClock) now() time.Time {
	c.look()
	return c.clock.now()
}

// correct returns a deadline that was counted from since, minus the suspensions after since.
func (c *sleepClock) correct(since, deadline time.Time) time.Time {
	c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.sleeps) - 1; i >= 0 && since.Before(c.sleeps[i].noticed); i-- {
		deadline = deadline.Add(-c.sleeps[i].slept)
	}
	return deadline
}
