package zksource_test

import (
	"fmt"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestSemaphoresWithoutWaiters(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		kazoo, curator := root+"/kazoo", root+"/curator"
		cfg := zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}
		v, _ := watch(t, cfg)
		python := servertest.StartKazooLocks(t, zks.Addr)
		python.Send(t, "semaphore", "a", kazoo, "2")
		python.Expect(t, "acquired")
		java := servertest.StartCurator(t, zks.Addr)
		java.Send(t, "semaphore", "a", curator, "2")
		java.Expect(t, "acquired")
		held := func(v *sourcetest.View, p string) bool {
			l := v.Locks[p]
			return l != nil && l.Kind == inspect.KindSemaphore && l.State == inspect.StateHeld && len(l.Holders) == 1
		}
		v.Await("both held", func() bool { return held(v, kazoo) && held(v, curator) && len(v.Locks) == 2 })
		if w := once(t, cfg); !held(w, kazoo) || !held(w, curator) || len(w.Locks) != 2 {
			t.Errorf("one pass: %v", w.Describe())
		}
		for _, p := range []string{kazoo, curator} {
			if w := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: p}); !held(w, p) {
				t.Errorf("%s requested by name: %v", p, w.Describe())
			}
		}
		python.Send(t, "close", "a")
		java.Send(t, "close", "a")
		free := func(v *sourcetest.View, p string, limit int) bool {
			l := v.Locks[p]
			return l != nil && l.Kind == inspect.KindSemaphore && l.State == inspect.StateFree && l.Limit == limit
		}
		v.Await("both free", func() bool { return free(v, kazoo, 2) && free(v, curator, 0) && len(v.Locks) == 2 })
		// kazoo's limit and queue still exist.
		if w := once(t, cfg); !free(w, kazoo, 2) || len(w.Locks) != 1 {
			t.Errorf("one pass: %v", w.Describe())
		}
	})
}

// Clients queue for the only permit. Each is granted once, and only the one that gives up is gone.
func TestSemaphoreWaiterIsGrantedOnce(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		for _, library := range []string{"kazoo", "curator"} {
			t.Run(library, func(t *testing.T) {
				c, root := client(t, zks), servertest.UniquePath(t)
				create(t, c, root, "", 0)
				var peer *servertest.Peer
				if library == "kazoo" {
					peer = servertest.StartKazooLocks(t, zks.Addr)
				} else {
					peer = servertest.StartCurator(t, zks.Addr)
				}
				o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}, root+"/sem")
				const clients = 6
				for i := range clients {
					peer.Send(t, "semaphore", fmt.Sprint("c", i), o.id.Path, "1")
					o.awaitLock("one more contender", func(l *inspect.Lock) bool {
						return l.Recipe == library && len(l.Holders) == 1 && l.Contention() == i+1
					})
				}
				peer.Send(t, "close", "c4") // gives up
				o.awaitLock("one contender less", func(l *inspect.Lock) bool { return l.Contention() == clients-1 })
				left := clients - 1
				for i := range clients {
					if i == 4 {
						continue
					}
					before := o.seen.Lock(o.id).Holders[0]
					peer.Send(t, "close", fmt.Sprint("c", i))
					left--
					o.awaitLock("the next holder", func(l *inspect.Lock) bool {
						return l.Contention() == left && (left == 0 || len(l.Holders) == 1 && l.Holders[0].Name != before.Name)
					})
				}
				got := map[inspect.EventKind]int{}
				for _, e := range o.events {
					if e.Contender != nil {
						got[e.Kind]++
					}
				}
				grants, ends := got[inspect.EventAcquired]+got[inspect.EventHandover], got[inspect.EventReleased]+got[inspect.EventExpired]
				if grants != clients-1 || ends != clients-1 || got[inspect.EventGone] != 1 || got[inspect.EventWaiting] < clients-1 || got[inspect.EventWaiting] > clients { // the first may hold at once
					t.Errorf("%v", got)
					for _, e := range o.events {
						if e.Contender != nil {
							t.Log(e.At.Format("05.000"), e.Kind, e.Contender.Place, e.Contender.Name.Cut(60), e.Contender.Owner.Label, e.Contender.Owner.Session, e.Contender.Czxid, e.Contender.State, "from", e.From())
						}
					}
				}
				for _, e := range o.events {
					if (e.Kind == inspect.EventAcquired || e.Kind == inspect.EventHandover) && e.Previous == nil && e.Contender.HeldSince.Sub(e.Contender.Since) < 0 {
						t.Errorf("granted before it queued: %+v", e.Contender)
					}
				}
			})
		}
	})
}

// The server removes the directory of permits, a container, while it is empty. The waiters in the
// other directory keep waiting.
func TestRemovedPermitsDirectoryKeepsWaiters(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		sem := root + "/sem"
		for _, p := range []string{root, sem, sem + "/leases", sem + "/locks"} {
			create(t, c, p, "", 0)
		}
		lease := create(t, c, sem+"/leases/_c_11111111-1111-4111-8111-111111111111-lease-", "a", contender)
		create(t, c, sem+"/locks/_c_22222222-2222-4222-8222-222222222222-lock-", "b", contender)
		o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}, sem)
		o.awaitLock("a holder and a waiter", func(l *inspect.Lock) bool {
			return l.Kind == inspect.KindSemaphore && len(l.Holders) == 1 && len(l.Waiters) == 1
		})
		remove(t, c, lease)
		remove(t, c, sem+"/leases")
		o.awaitLock("no holder", func(l *inspect.Lock) bool { return len(l.Holders) == 0 })
		create(t, c, root+"/after", "", 0)
		create(t, c, root+"/after/_c_11111111-1111-4111-8111-111111111111-lock-", "a", contender)
		o.await("a later lock", func(s *inspect.Snapshot) bool { return s.Lock(inspect.ID{Backend: "zk", Path: root + "/after"}) != nil })
		l := o.seen.Lock(o.id)
		if l == nil || len(l.Waiters)+len(l.Holders) != 1 {
			t.Errorf("%+v", l)
		}
		create(t, c, sem+"/locks/_c_33333333-3333-4333-8333-333333333333-lock-", "c", contender)
		o.awaitLock("another waiter", func(l *inspect.Lock) bool { return len(l.Holders)+len(l.Waiters) == 2 })
		create(t, c, sem+"/leases", "", 0)
		create(t, c, sem+"/leases/_c_22222222-2222-4222-8222-222222222222-lease-", "b", contender)
		o.awaitLock("the next holder", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
		for _, e := range o.events {
			must.True(t, e.Kind != inspect.EventGone, e.Kind, e.Contender.Name)
		}
	})
}
