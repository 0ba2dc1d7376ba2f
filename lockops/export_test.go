package lockops

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/servertest"
)

// Await returns the next value of a channel, or its zero value if it is closed. It is also for the
// external tests.
func Await[T any](t testing.TB, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(time.Minute): // longer than any call takes, even on a busy machine
		t.Fatal("not within a minute: ", what)
	}
	return value
}

// AnyRedis starts a real server, or an embedded one if real servers are off. It can be restarted, but
// not paused.
func AnyRedis(t testing.TB) *servertest.Redis {
	t.Helper()
	if os.Getenv("LOCKSCOPE_REAL") == "" {
		return servertest.StartEmbeddedRedis(t)
	}
	return servertest.StartRedis(t)
}

// ClockAhead makes a session's clock run ahead of the machine's.
func ClockAhead(ahead *atomic.Int64) ZKOption {
	return func(o *zkOptions) {
		o.clock.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}
}
