package redissource_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
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
	// Longer where the machine is too slow to have read everything by then.
	for deadline, ended := 400*time.Millisecond, 0; ended < 8; {
		cfg := config(masters)
		cfg.Timeout = 10 * time.Second
		s, v := redissource.New(cfg), sourcetest.NewView(t)
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		done := make(chan error, 1)
		go func() {
			err := s.Run(ctx, v.Emit)
			v.Emit(inspect.Update{}) // wakes who awaits a reading that does not come
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
			t.Errorf("our own end is reported as theirs: %+v, %v", v.Backend, v.Describe())
		}
	}
}
