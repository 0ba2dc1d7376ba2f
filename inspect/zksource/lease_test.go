package zksource_test

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestKazooLeases(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		cfg := zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}
		v, _ := watch(t, cfg)
		python := servertest.StartKazooLocks(t, zks.Addr)
		python.Send(t, "lease", "a", root+"/lease", "3600")
		python.Expect(t, "acquired lease a")
		python.Send(t, "lease", "b", root+"/lease", "3600")
		python.Expect(t, "refused lease b")
		for _, name := range []string{"a", "b", "c"} { // there are two
			python.Send(t, "leases", name, root+"/many", "3600")
			python.Expect(t, map[bool]string{true: "refused", false: "acquired"}[name == "c"])
		}
		held := func(l *inspect.Lock, by inspect.Untrusted) bool {
			return l != nil && l.State == inspect.StateHeld && len(l.Holders) == 1 && l.Holders[0].Owner.Label == by && time.Until(l.Holders[0].ExpiresAt) > time.Minute
		}
		v.Await("three are held", func() bool {
			return len(v.Locks) == 3 && held(v.Locks[root+"/lease"], "a") && held(v.Locks[root+"/many/0"], "a") && held(v.Locks[root+"/many/1"], "b")
		})
		if w := once(t, cfg); len(w.Locks) != 3 || !held(w.Locks[root+"/lease"], "a") {
			t.Errorf("one pass: %v", w.Describe())
		}
		if w := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root + "/lease"}); !held(w.Locks[root+"/lease"], "a") {
			t.Errorf("named: %v", w.Describe())
		}
		remove(t, c, root+"/lease/lease_holder")
		v.Await("it is free", func() bool { return v.Locks[root+"/lease"].State == inspect.StateFree })
	})
}

func TestALeaseIsRenewedAndExpires(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}, root+"/lease")
		python := servertest.StartKazooLocks(t, zks.Addr)
		end := time.Now()
		for _, seconds := range []string{"100", "200", "300", "400", "3"} {
			python.Send(t, "lease", "a", o.id.Path, seconds)
			python.Expect(t, "acquired")
			o.awaitLock("it lasts "+seconds+" s", func(l *inspect.Lock) bool {
				if len(l.Holders) != 1 || l.State != inspect.StateHeld || l.Holders[0].ExpiresAt.Equal(end) || l.Holders[0].Name != "lease_holder" {
					return false
				}
				end = l.Holders[0].ExpiresAt
				return true
			})
		}
		o.awaitLock("it is over", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
		python.Send(t, "lease", "b", o.id.Path, "100")
		python.Expect(t, "acquired")
		o.awaitLock("another has it", func(l *inspect.Lock) bool { return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "b" })
		want := []inspect.EventKind{inspect.EventAppeared, inspect.EventAcquired, inspect.EventExpired, inspect.EventAcquired}
		must.Same(t, o.kinds(inspect.EventWaiting, inspect.EventGone), want, "events")
	})
}
