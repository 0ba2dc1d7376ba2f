package lockops

import (
	"time"

	"lockscope/internal/suspend"
)

// clock is by what a session judges its leases and waits. Its instants have a monotonic reading, and compare
// with those at which requests were sent. That reading leaves out the time for which the machine was
// suspended, which is added separately, and by which servers have gone on.
//
// Timers and the deadlines of connections go by the process' own clock: what they wake judges by this one. A
// clock that runs ahead of that is what a process sees that has stood still.
type clock struct {
	now       func() time.Time
	suspended func() time.Duration // in all, since the machine's start; always 0 where the system does not count it
}

func processClock() clock { return clock{time.Now, suspend.Total} }

func (c clock) since(at time.Time) time.Duration { return c.now().Sub(at) }

func (c clock) until(at time.Time) time.Duration { return at.Sub(c.now()) }

// before reports whether an instant is yet to come.
func (c clock) before(at time.Time) bool { return c.now().Before(at) }
