package redissource_test

import (
	"context"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/redissource"
	"lockscope/internal/servertest"
)

// TestOurOwnEndIsNobodysFailure ends a source at a deadline while its reads are under way: the masters did not fail.
func TestOurOwnEndIsNobodysFailure(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	for _, m := range masters {
		set(t, m, "lock:a", "x", 0)
		if err := client(t, m).Do(t.Context(), "acl", "setuser", "default", "-client|tracking").Err(); err != nil {
			t.Fatal(err) // polled, so that there is always a read under way
		}
	}
	for range 8 {
		cfg := config(masters)
		cfg.Timeout = 10 * time.Second
		s, v := redissource.New(cfg), sourcetest.NewView(t)
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, v.Emit) }()
		v.Await("read", func() bool { return state(v, "lock:a", inspect.StateHeld)() && v.Backend != nil && v.Backend.FirstPass })
		for _, m := range masters {
			m.Pause(t)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		cancel()
		for _, m := range masters {
			m.Resume(t)
		}
		if v.Backend.State != inspect.Connected || v.Locks["lock:a"].State != inspect.StateHeld {
			t.Errorf("our own end is told as theirs: %+v, %v", v.Backend, v.Describe())
		}
	}
}
