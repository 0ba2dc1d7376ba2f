package lockops

import (
	"testing"
	"time"
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
