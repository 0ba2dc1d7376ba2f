package zksource_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// semaphoresOf checks for a Curator semaphore, a kazoo semaphore and a mutex named "locks" below
// root, and for more other locks.
func semaphoresOf(t *testing.T, v *sourcetest.View, root string, more int) {
	t.Helper()
	v2, sem := v.Locks[root+"/v2"], v.Locks[root+"/sem"]
	if v2 == nil || v2.Kind != inspect.KindSemaphore || v2.Limit != 1 || len(v2.Holders) != 1 || len(v2.Waiters) != 1 ||
		v2.Waiters[0].State != inspect.Pending || len(v2.Aliens) != 0 {
		t.Errorf("Curator's semaphore: %+v", v2)
	}
	if sem == nil || sem.Kind != inspect.KindSemaphore || sem.Limit != 1 || len(sem.Holders) != 1 || len(sem.Waiters) != 1 ||
		sem.Waiters[0].Owner.Label != "b" {
		t.Errorf("kazoo's semaphore: %+v", sem)
	}
	if l := v.Locks[root+"/locks"]; l == nil || l.Kind != inspect.KindMutex {
		t.Errorf("the mutex named locks: %+v", l)
	}
	must.Equal(t, len(v.Locks), 3+more, "locks", v.Describe())
}

func TestSemaphoreLayoutsFormOneLock(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, other, root := client(t, zks), client(t, zks), servertest.UniquePath(t)
		for _, p := range []string{"", "/v2", "/v2/leases", "/v2/locks", "/sem-__lock__", "/locks", "/w", "/w/leases"} {
			create(t, c, root+p, "", 0)
		}
		create(t, c, root+"/sem", "1", 0)
		create(t, c, root+"/v2/leases/_c_"+uuid+"-lease-", "10.0.0.7", contender)
		create(t, other, root+"/v2/locks/_c_"+uuid+"-lock-", "10.0.0.8", contender)
		pending := create(t, other, root+"/v2/leases/_c_"+uuid+"-lease-", "10.0.0.8", contender)
		create(t, c, root+"/sem/"+guid, "a", 1)
		create(t, c, root+"/sem-__lock__/"+guid+"__lock__", "b'b'", contender)
		create(t, c, root+"/locks/_c_"+uuid+"-lock-", "10.0.0.9", contender)
		create(t, c, root+"/w/leases/x", "", 1)
		v, s := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
		v.Await("all", func() bool {
			semaphoresOf(t, v, root, 1) // the lone node
			return true
		})
		semaphoresOf(t, once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}), root, 1)
		for _, name := range []string{"/v2", "/sem"} {
			for how, cfg := range map[string]zksource.Config{"named": {Only: root + name}, "as root": {Roots: []string{root + name}}} {
				cfg.Servers = []string{zks.Addr}
				w := once(t, cfg)
				if l := w.Locks[root+name]; len(w.Locks) != 1 || l == nil || l.Kind != inspect.KindSemaphore || len(l.Waiters) != 1 {
					t.Errorf("%s %s: %v", how, name, w.Describe())
				}
			}
		}
		s.Focus([]inspect.ID{{Backend: "zk", Path: root + "/v2"}})
		lease := create(t, c, root+"/v2/leases/_c_"+uuid+"-lease-", "10.0.0.7", contender)
		v.Await("three leases", func() bool { return len(v.Locks[root+"/v2"].Holders) == 2 })
		remove(t, c, lease)
		remove(t, c, pending)
		v.Await("no pending waiter", func() bool {
			return v.Locks[root+"/v2"].Limit == 0 && v.Locks[root+"/v2"].Waiters[0].State == inspect.Waiting
		})
		for _, p := range []string{"/v2/leases", "/v2/locks"} {
			children, _, err := c.Children(root + p)
			must.Succeed(t, err)
			for _, name := range children {
				remove(t, c, root+p+"/"+name)
			}
		}
		v.Await("free", func() bool {
			l := v.Locks[root+"/v2"]
			if l.Kind != inspect.KindSemaphore || v.Locks[root+"/v2/leases"] != nil || v.Locks[root+"/v2/locks"] != nil {
				t.Errorf("locks: %v", v.Describe())
			}
			return l.State == inspect.StateFree
		})
		must.Have(c.Set(root+"/sem", []byte("5"), -1))(t)
		v.Await("the new limit", func() bool { return v.Locks[root+"/sem"].Limit == 5 })
	})
}

// A new kazoo Semaphore creates its directory, a queue next to it, an entry in the queue, and a
// permit. The queue is never a separate lock.
func TestSemaphoreQueueIsNotSeparateLock(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
		for i := range 10 {
			sem := root + "/sem" + strconv.Itoa(i)
			create(t, c, sem, "", 0)
			must.Have(c.Set(sem, []byte("2"), -1))(t)
			create(t, c, root+"/other"+strconv.Itoa(i), "", 0)
			create(t, c, root+"/other"+strconv.Itoa(i)+"/"+guid+"__lock__", "b'b'", contender)
			v.Await("a later lock", func() bool { return v.Locks[root+"/other"+strconv.Itoa(i)] != nil }) // so the empty semaphore has been read
			create(t, c, sem+"-__lock__", "", 0)
			waits := create(t, c, sem+"-__lock__/"+guid+"__lock__", "b'b'", contender)
			if i%2 == 0 {
				v.Await("a waiter", func() bool { return v.Locks[sem] != nil && len(v.Locks[sem].Waiters) == 1 })
			}
			create(t, c, sem+"/"+guid, "a", 1)
			remove(t, c, waits)
			v.Await("the permit", func() bool {
				return v.Locks[sem] != nil && len(v.Locks[sem].Holders) == 1 && len(v.Locks[sem].Waiters) == 0
			})
			v.Await("its queue", func() bool {
				if !v.At[sem+"-__lock__"].IsZero() {
					t.Errorf("%s was a lock", sem+"-__lock__")
				}
				return true
			})
		}
	})
}

func TestSingleNodesAreLocks(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		until := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02T15:04:05.000Z") }
		for _, p := range []string{"", "/app", "/app/config", "/app/nodes", "/shedlock"} {
			create(t, c, root+p, "", 0)
		}
		leader := create(t, c, root+"/app/leader", "node-1", 1)
		create(t, c, root+"/app/nodes/1", "", 1)
		create(t, c, root+"/app/nodes/2", "", 1)
		create(t, c, root+"/shedlock/daily", until(time.Hour), 0)
		create(t, c, root+"/shedlock/hourly", until(-time.Hour), 0)
		check := func(v *sourcetest.View) {
			t.Helper()
			l, daily, hourly := v.Locks[root+"/app/leader"], v.Locks[root+"/shedlock/daily"], v.Locks[root+"/shedlock/hourly"]
			if l == nil || l.Recipe != "ephemeral" || l.State != inspect.StateHeld || l.Holders[0].Owner.Label != "node-1" || l.Node(&l.Holders[0]) != leader {
				t.Errorf("leader: %+v", l)
			}
			if daily == nil || daily.State != inspect.StateHeld || daily.Holders[0].ExpiresAt.IsZero() || hourly == nil || hourly.State != inspect.StateFree || hourly.Recipe != "shedlock" {
				t.Errorf("daily: %+v, hourly: %+v", daily, hourly)
			}
			must.Equal(t, len(v.Locks), 3, "locks", v.Describe())
		}
		cfg := zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}
		check(once(t, cfg))
		for _, p := range []string{"/app/leader", "/shedlock/daily"} {
			w := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root + p})
			if l := w.Locks[root+p]; len(w.Locks) != 1 || l == nil || l.State != inspect.StateHeld {
				t.Errorf("named %s: %v", p, w.Describe())
			}
		}
		v, _ := watch(t, cfg)
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
		v.Await("all", func() bool {
			check(v)
			return true
		})
		remove(t, c, leader)
		v.Await("no leader", func() bool { return v.Locks[leader] != nil && v.Locks[leader].State == inspect.StateFree })
		create(t, c, leader, "node-2", 1)
		v.Await("node-2 leads", func() bool {
			l := v.Locks[leader]
			return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "node-2"
		})
		remove(t, c, leader)
		create(t, c, leader, "node-3", 1)
		v.Await("node-3 leads", func() bool {
			l := v.Locks[leader]
			return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "node-3"
		})
		create(t, c, root+"/app/second", "", 1)
		v.Await("not a lock next to another node", func() bool { return v.Locks[leader] == nil })
		remove(t, c, root+"/app/second")
		v.Await("a lock again when alone", func() bool { return v.Locks[leader] != nil && v.Locks[leader].State == inspect.StateHeld })

		must.Have(c.Set(root+"/shedlock/hourly", []byte(until(6*time.Second)), -1))(t)
		v.Await("the job's lock held", func() bool { return v.Locks[root+"/shedlock/hourly"].State == inspect.StateHeld })
		v.Await("the job's lock expired", func() bool { return v.Locks[root+"/shedlock/hourly"].State == inspect.StateFree })
	})
}

func TestChangedDataGrantsPermit(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		create(t, c, root+"/semaphore-", "ACQUIRED", contender)
		second := create(t, c, root+"/semaphore-", "", contender)
		v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("a waiter", func() bool { l := v.Locks[root]; return l != nil && l.Recipe == "madelson" && len(l.Waiters) == 1 })
		must.Have(c.Set(second, []byte("ACQUIRED"), -1))(t)
		v.Await("two holders", func() bool { return len(v.Locks[root].Holders) == 2 })
		remove(t, c, second)
		v.Await("one holder", func() bool { return len(v.Locks[root].Holders) == 1 })
	})
}

func TestSymfonyLocksAtRootAreFound(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	token := strings.Repeat("YWJj", 10) + "YWI="
	create(t, c, "/invoice", token, 1)
	create(t, c, "/report", token, 1)
	create(t, c, "/other", "x", 1)
	v := once(t, zksource.Config{Servers: []string{zks.Addr}})
	if l := v.Locks["/invoice"]; len(v.Locks) != 2 || l == nil || l.Recipe != "symfony" || l.State != inspect.StateHeld {
		t.Errorf("locks: %v", v.Describe())
	}
}
