package redissource_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
)

// A source that reaches its deadline during a read does not report its masters as failed.
func TestOwnDeadlineIsNotAFailure(t *testing.T) {
	t.Parallel()
	masters := startMasters(t, 3, "lock:a")
	for _, m := range masters { // without tracking, there is always a read in progress
		run(t, m.Client(t), "ACL SETUSER default -client|tracking")
	}
	// A slow machine gets a longer deadline.
	for deadline, ended := 400*time.Millisecond, 0; ended < 8; {
		cfg := config(masters...)
		cfg.Timeout = 10 * time.Second
		s, v := redissource.New(cfg), sourcetest.NewView(t)
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		done := make(chan error, 1)
		go func() {
			err := s.Run(ctx, v.Emit)
			v.Emit(inspect.Update{}) // wakes Await
			done <- err
		}()
		read := func() bool {
			return state(v, "lock:a", inspect.StateHeld)() && v.Backend != nil && v.Backend.FirstPass
		}
		v.Await("read, or ended", func() bool { return read() || ctx.Err() != nil })
		if ctx.Err() != nil {
			cancel()
			<-done
			deadline *= 2
			continue
		}
		ended++
		for _, m := range masters {
			m.Pause(t)
		}
		must.Be(t, <-done, nil)
		cancel()
		for _, m := range masters {
			m.Resume(t)
		}
		if v.Backend.State != inspect.Connected || v.Locks["lock:a"].State != inspect.StateHeld {
			t.Errorf("our own deadline is reported as a failure: %+v, %v", v.Backend, v.Describe())
		}
	}
}
