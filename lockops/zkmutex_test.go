package lockops_test

import (
	"context"
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
		var grants atomic.Int32
		var last atomic.Uint64
		contend(t, 12, 8, func(i int) lockops.Locker {
			return lockops.NewZKMutex(sessions[i%3], path, lockops.WithLabel("worker"))
		}, func(h *lockops.Hold) {
			token, ok := h.Token()
			if before := last.Swap(token); !ok || token <= before {
				t.Errorf("token %d (%v) after %d: not in the order of the queue", token, ok, before)
			}
			grants.Add(1)
		})
		must.Equal(t, grants.Load(), 12*8, "grants")
	})
}

func TestZkTryAcquireLeavesNothing(t *testing.T) {
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s := zkSession(t, server.Addr)
		m := lockops.NewZKMutex(s, path)
		h := must.Have(m.TryAcquire(within(t)))(t)
		refused(t, m, lockops.ErrHeld, "second TryAcquire")
		must.Same(t, children(t, server, path), []string{h.Name()}, "nodes")
		release(t, h)
		must.Same(t, children(t, server, path), nil, "nodes left")
		must.Be(t, h.Release(within(t)), lockops.ErrNotHeld, "second release")
		must.Be(t, context.Cause(h.Context()), lockops.ErrReleased, "cause")
	})
}
