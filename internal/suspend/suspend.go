// Package suspend tells for how long the machine was suspended: Go's monotonic clock stands still meanwhile, and the wall clock goes on,
// as if it had been set.
package suspend

import (
	"sync/atomic"
	"time"
)

// pretended is added for tests, which cannot suspend the machine.
var pretended atomic.Int64

// Total is the suspension of the machine since its start; always 0 where the system does not count it.
func Total() time.Duration { return counted() + time.Duration(pretended.Load()) }

// Pretend makes the machine look as if it had been suspended for so long more. It is for tests.
func Pretend(d time.Duration) { pretended.Add(int64(d)) }
