package lockops_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// TestZKMutexIsExclusiveAndFair: many contenders, one at a time, in the order of their nodes.
func TestZKMutexIsExclusiveAndFair(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t) + "/nested/lock"
		sessions := []*lockops.ZKSession{zkSession(t, server.Addr), zkSession(t, server.Addr), zkSession(t, server.Addr)}
		var inside, grants atomic.Int32
		var last atomic.Uint64
		var all sync.WaitGroup
		for i := range 12 {
			m := lockops.NewZKMutex(sessions[i%len(sessions)], path, lockops.WithLabel("worker"))
			all.Go(func() {
				for range 8 {
					h, err := m.Acquire(within(t))
					if err != nil {
						t.Error(err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two holders at once")
					}
					token, ok := h.Token()
					if before := last.Swap(token); !ok || token <= before {
						t.Errorf("token %d (%v) after %d: not in the order of the queue", token, ok, before)
					}
					grants.Add(1)
					inside.Add(-1)
					if err := h.Release(within(t)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := grants.Load(); n != 12*8 {
			t.Errorf("%d grants, want %d", n, 12*8)
		}
	})
}

func TestZKMutexTryAcquireLeavesNothing(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		m := lockops.NewZKMutex(s, path)
		h := must.Have(m.TryAcquire(within(t)))(t)
		if _, err := m.TryAcquire(within(t)); !errors.Is(err, lockops.ErrHeld) {
			t.Fatalf("second TryAcquire: %v, want ErrHeld", err)
		}
		if got := children(t, server, path); len(got) != 1 || got[0] != h.Name() {
			t.Errorf("children %q, want only %q", got, h.Name())
		}
		release(t, h)
		if got := children(t, server, path); len(got) != 0 {
			t.Errorf("children %q after release", got)
		}
		if err := h.Release(within(t)); !errors.Is(err, lockops.ErrNotHeld) {
			t.Errorf("second release: %v, want ErrNotHeld", err)
		}
		if cause := context.Cause(h.Context()); !errors.Is(cause, lockops.ErrReleased) {
			t.Errorf("cause %v, want ErrReleased", cause)
		}
	})
}

// TestZ21_ReentrancyBelongsToTheHold: Acquire with a hold's context re-enters, anything else queues; the last
// release frees.
func TestZ21_ReentrancyBelongsToTheHold(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		m := lockops.NewZKMutex(s, path)
		outer := acquire(t, m)
		inner := must.Have(lockops.NewZKMutex(s, path, lockops.WithReentry()).Acquire(outer.Context()))(t)
		if inner.Name() != outer.Name() {
			t.Errorf("re-entered as %q, held as %q", inner.Name(), outer.Name())
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := m.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stranger's Acquire on the same locker: %v, want DeadlineExceeded", err)
		}
		release(t, outer)
		if inner.Context().Err() != nil {
			t.Error("the inner hold ended with the outer one")
		}
		if _, err := m.TryAcquire(within(t)); !errors.Is(err, lockops.ErrHeld) {
			t.Errorf("TryAcquire while the inner hold lasts: %v", err)
		}
		release(t, inner)
		release(t, acquire(t, m))
	})
}
