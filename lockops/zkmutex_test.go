package lockops_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// Many contenders are granted the lock one at a time, in the order of their nodes.
func TestZkMutexIsExclusiveAndFair(t *testing.T) {
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
					must.Equal(t, inside.Add(1), 1, "two holders at once")
					token, ok := h.Token()
					if before := last.Swap(token); !ok || token <= before {
						t.Errorf("token %d (%v) after %d: not in the order of the queue", token, ok, before)
					}
					grants.Add(1)
					inside.Add(-1)
					must.Be(t, h.Release(within(t)), nil)
				}
			})
		}
		all.Wait()
		must.Equal(t, grants.Load(), 12*8, "grants")
	})
}

func TestZkTryAcquireLeavesNothing(t *testing.T) {
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
		must.Be(t, h.Release(within(t)), lockops.ErrNotHeld, "second release")
		must.Be(t, context.Cause(h.Context()), lockops.ErrReleased, "cause")
	})
}
