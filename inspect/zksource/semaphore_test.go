package zksource_test

import (
	"testing"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

func TestSemaphoresNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		kazoo, curator := root+"/kazoo", root+"/curator"
		cfg := zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}
		v, _ := watch(t, cfg)
		python := servertest.StartKazooLocks(t, zks.Addr)
		python.Tell(t, "semaphore", "a", kazoo, "2")
		python.Expect(t, "acquired")
		java := servertest.StartCurator(t, zks.Addr)
		java.Tell(t, "semaphore", "a", curator, "2")
		java.Expect(t, "acquired")
		held := func(v *sourcetest.View, p string) bool {
			l := v.Locks[p]
			return l != nil && l.Kind == inspect.KindSemaphore && l.State == inspect.StateHeld && len(l.Holders) == 1
		}
		v.Await("both are held", func() bool { return held(v, kazoo) && held(v, curator) && len(v.Locks) == 2 })
		if w := once(t, cfg); !held(w, kazoo) || !held(w, curator) || len(w.Locks) != 2 {
			t.Errorf("one pass: %v", w.Describe())
		}
		for _, p := range []string{kazoo, curator} {
			if w := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: p}); !held(w, p) {
				t.Errorf("named %s: %v", p, w.Describe())
			}
		}
		python.Tell(t, "close", "a")
		java.Tell(t, "close", "a")
		free := func(v *sourcetest.View, p string, limit int) bool {
			l := v.Locks[p]
			return l != nil && l.Kind == inspect.KindSemaphore && l.State == inspect.StateFree && l.Limit == limit
		}
		v.Await("both are free", func() bool { return free(v, kazoo, 2) && free(v, curator, 0) && len(v.Locks) == 2 })
		// Of kazoo's, its limit and its queue are still there to tell.
		if w := once(t, cfg); !free(w, kazoo, 2) || len(w.Locks) != 1 {
			t.Errorf("one pass: %v", w.Describe())
		}
	})
}
