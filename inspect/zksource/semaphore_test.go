package zksource_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// semaphoresOf checks for a Curator semaphore, a kazoo semaphore and a mutex named "locks" below
// root, and for the lone node.
func semaphoresOf(t *testing.T, v *sourcetest.View, root string) {
	t.Helper()
	v2 := demand(t, v.Locks[root+"/v2"], "curator semaphore contended 1+1 of 1")
	must.True(t, v2.Waiters[0].State == inspect.Pending && len(v2.Aliens) == 0, v2)
	sem := demand(t, v.Locks[root+"/sem"], "kazoo semaphore contended 1+1 of 1")
	must.Equal(t, sem.Waiters[0].Owner.Label, "b", "waiter")
	demand(t, v.Locks[root+"/locks"], "curator mutex held 1+0")
	must.Equal(t, len(v.Locks), 4, "locks", v.Describe())
}

func TestSemaphoreLayoutsFormOneLock(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		other, v2 := s.as(10*time.Second), s.root+"/v2"
		s.dirs("/v2", "/v2/leases", "/v2/locks", "/sem-__lock__", "/locks", "/w", "/w/leases")
		s.create("/sem", "1", 0)
		s.create("/v2/leases/_c_"+uuid+"-lease-", "10.0.0.7", contender)
		other.create("/v2/locks/_c_"+uuid+"-lock-", "10.0.0.8", contender)
		pending := other.create("/v2/leases/_c_"+uuid+"-lease-", "10.0.0.8", contender)
		s.create("/sem/"+guid, "a", zk.FlagEphemeral)
		s.create("/sem-__lock__/"+guid+"__lock__", "b'b'", contender)
		s.create("/locks/_c_"+uuid+"-lock-", "10.0.0.9", contender)
		s.create("/w/leases/x", "", zk.FlagEphemeral)
		v := s.watch()
		v.Peek(func() { semaphoresOf(t, v.View, s.root) })
		semaphoresOf(t, s.once(), s.root)
		for p, recipe := range map[string]string{"/v2": "curator", "/sem": "kazoo"} {
			asRoot := once(t, zksource.Config{Servers: s.cfg.Servers, Roots: []string{s.root + p}})
			for _, w := range []*sourcetest.View{s.named(p), asRoot} {
				demand(t, w.Locks[s.root+p], recipe+" semaphore contended 1+1 of 1")
				must.Equal(t, len(w.Locks), 1, "locks", w.Describe())
			}
		}
		v.focus(v2)
		lease := s.create("/v2/leases/_c_"+uuid+"-lease-", "10.0.0.7", contender)
		v.awaitLock(v2, "three leases", func(l *inspect.Lock) bool { return len(l.Holders) == 2 })
		s.remove(lease)
		s.remove(pending)
		v.awaitLock(v2, "no pending waiter", func(l *inspect.Lock) bool {
			return l.Limit == 0 && l.Waiters[0].State == inspect.Waiting
		})
		for _, p := range []string{"/v2/leases/", "/v2/locks/"} {
			children, _, err := s.conn.Children(path.Dir(s.root + p + "x"))
			must.Succeed(t, err)
			for _, name := range children {
				s.remove(s.root + p + name)
			}
		}
		v.awaitLock(v2, "free", func(l *inspect.Lock) bool {
			parts := v.Locks[v2+"/leases"] != nil || v.Locks[v2+"/locks"] != nil
			must.True(t, l.Kind == inspect.KindSemaphore && !parts, v.Describe())
			return l.State == inspect.StateFree
		})
		s.write("/sem", "5")
		v.awaitLock(s.root+"/sem", "the new limit", func(l *inspect.Lock) bool { return l.Limit == 5 })
	})
}

// A new kazoo Semaphore creates its directory, a queue next to it, an entry in the queue, and a
// permit. The queue is never a separate lock.
func TestSemaphoreQueueIsNotSeparateLock(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		v := s.watch()
		for i := range 10 {
			sem, other := fmt.Sprint("/sem", i), fmt.Sprint("/other", i)
			s.dirs(sem)
			s.write(sem, "2")
			s.queue(other, "b'b'")
			v.Await("a later lock", func() bool { return v.Locks[s.root+other] != nil }) // so the empty semaphore has been read
			waits := s.queue(sem+"-__lock__", "b'b'")[0]
			if i%2 == 0 {
				v.awaitWaiters(s.root+sem, 1)
			}
			s.create(sem+"/"+guid, "a", zk.FlagEphemeral)
			s.remove(waits)
			v.awaitBrief(s.root+sem, "kazoo semaphore held 1+0 of 2")
			v.Peek(func() { must.True(t, v.At[s.root+sem+"-__lock__"].IsZero(), sem, "has a queue that was a lock") })
		}
	})
}

func TestSingleNodesAreLocks(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		until := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02T15:04:05.000Z") }
		s.dirs("/app", "/app/config", "/app/nodes", "/shedlock")
		leader := s.create("/app/leader", "node-1", zk.FlagEphemeral)
		s.create("/app/nodes/1", "", zk.FlagEphemeral)
		s.create("/app/nodes/2", "", zk.FlagEphemeral)
		s.create("/shedlock/daily", until(time.Hour), 0)
		s.create("/shedlock/hourly", until(-time.Hour), 0)
		check := func(v *sourcetest.View) {
			l := demand(t, v.Locks[leader], "ephemeral election held 1+0")
			must.Equal(t, l.Node(&l.Holders[0]), leader, "node")
			must.Equal(t, l.Holders[0].Owner.Label, "node-1", "label")
			daily := demand(t, v.Locks[s.root+"/shedlock/daily"], "shedlock mutex held 1+0")
			must.True(t, !daily.Holders[0].ExpiresAt.IsZero(), "daily", daily)
			demand(t, v.Locks[s.root+"/shedlock/hourly"], "shedlock mutex free 0+0")
			must.Equal(t, len(v.Locks), 3, "locks", v.Describe())
		}
		check(s.once())
		for p, recipe := range map[string]string{"/app/leader": "ephemeral election", "/shedlock/daily": "shedlock mutex"} {
			w := s.named(p)
			demand(t, w.Locks[s.root+p], recipe+" held 1+0")
			must.Equal(t, len(w.Locks), 1, "named", p, w.Describe())
		}
		v := s.watch()
		v.Peek(func() { check(v.View) })
		s.remove(leader)
		v.awaitState(leader, inspect.StateFree)
		s.create("/app/leader", "node-2", zk.FlagEphemeral)
		v.awaitHolder(leader, "node-2")
		s.remove(leader)
		s.create("/app/leader", "node-3", zk.FlagEphemeral)
		v.awaitHolder(leader, "node-3")
		second := s.create("/app/second", "", zk.FlagEphemeral)
		v.Await("not a lock next to another node", func() bool { return v.Locks[leader] == nil })
		s.remove(second)
		v.awaitState(leader, inspect.StateHeld)

		s.write("/shedlock/hourly", until(6*time.Second))
		v.awaitState(s.root+"/shedlock/hourly", inspect.StateHeld)
		v.awaitState(s.root+"/shedlock/hourly", inspect.StateFree)
	})
}

func TestSymfonyLocksAtRootAreFound(t *testing.T) {
	t.Parallel()
	for name, start := range ownServers() {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			token := strings.Repeat("YWJj", 10) + "YWI="
			s.create("/invoice", token, zk.FlagEphemeral)
			s.create("/report", token, zk.FlagEphemeral)
			s.create("/other", "x", zk.FlagEphemeral)
			v := s.once()
			must.Equal(t, len(v.Locks), 2, v.Describe())
			demand(t, v.Locks["/invoice"], "symfony mutex held 1+0")
			s.allow("/invoice", unreadable)
			v = s.once()
			unseen := slices.ContainsFunc(v.Backend.Unseen, func(u inspect.Unseen) bool {
				return u.Aspect == inspect.AspectLocks && u.Right == "READ on /invoice"
			})
			must.True(t, v.Locks["/report"] != nil && (v.Locks["/invoice"] != nil || unseen), v.Backend.Unseen)
		})
	}
}

func TestSemaphoresWithoutWaiters(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		kazoo, curator := s.root+"/kazoo", s.root+"/curator"
		v := s.watch()
		python, java := servertest.StartKazooLocks(t, s.zks.Addr), servertest.StartCurator(t, s.zks.Addr)
		python.Send(t, "semaphore", "a", kazoo, "2")
		python.Expect(t, "acquired")
		java.Send(t, "semaphore", "a", curator, "2")
		java.Expect(t, "acquired")
		v.awaitBrief(kazoo, "kazoo semaphore held 1+0 of 2")
		v.awaitBrief(curator, "curator semaphore held 1+0 of 0")
		for w, locks := range map[*sourcetest.View]int{s.once(): 2, s.named("/kazoo"): 1, s.named("/curator"): 1} {
			must.Equal(t, len(w.Locks), locks, w.Describe())
			for p, l := range w.Locks {
				v.Peek(func() { must.Equal(t, brief(l), brief(v.Locks[p]), p) })
			}
		}
		python.Send(t, "close", "a")
		java.Send(t, "close", "a")
		v.awaitBrief(kazoo, "kazoo semaphore free 0+0 of 2")
		v.awaitBrief(curator, "curator semaphore free 0+0 of 0")
		v.Peek(func() { must.Equal(t, len(v.Locks), 2, "locks", v.Describe()) })
		w := s.once() // kazoo's limit and queue still exist
		demand(t, w.Locks[kazoo], "kazoo semaphore free 0+0 of 2")
		must.Equal(t, len(w.Locks), 1, "locks in one pass", w.Describe())
	})
}

// Contenders of a Curator semaphore or lock.
const (
	firstLock   = "/_c_11111111-1111-4111-8111-111111111111-lock-"
	firstLease  = "/_c_11111111-1111-4111-8111-111111111111-lease-"
	secondLock  = "/_c_22222222-2222-4222-8222-222222222222-lock-"
	secondLease = "/_c_22222222-2222-4222-8222-222222222222-lease-"
	thirdLock   = "/_c_33333333-3333-4333-8333-333333333333-lock-"
)

// Clients queue for the only permit. Each is granted once, and only the one that gives up is gone.
func TestSemaphoreWaiterIsGrantedOnce(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		for library, start := range map[string]func(testing.TB, string) *servertest.Peer{
			"kazoo": servertest.StartKazooLocks, "curator": servertest.StartCurator,
		} {
			t.Run(library, func(t *testing.T) {
				o := inDirectory(t, zks).follow("/sem")
				grantEach(t, o, start(t, zks.Addr), library)
				got := map[inspect.EventKind]int{}
				for _, e := range o.events {
					if e.Contender != nil {
						got[e.Kind]++
					}
					granted := e.Kind == inspect.EventAcquired || e.Kind == inspect.EventHandover
					early := granted && e.Previous == nil && e.Contender.HeldSince.Before(e.Contender.Since)
					must.True(t, !early, "granted before it queued", e.Contender)
				}
				grants, ends := got[inspect.EventAcquired]+got[inspect.EventHandover], got[inspect.EventReleased]+got[inspect.EventExpired]
				queued := got[inspect.EventWaiting] // the first may hold at once
				must.Equal(t, grants, semaphoreClients-1, "grants", got)
				must.Equal(t, ends, grants, "ends", got)
				must.Equal(t, got[inspect.EventGone], 1, "clients that gave up", got)
				must.True(t, queued == grants || queued == grants+1, "queued", got, o.events)
			})
		}
	})
}

const semaphoreClients = 6

// grantEach makes clients queue for one permit. One of them gives up, the others hold it in turn.
func grantEach(t *testing.T, o *following, peer *servertest.Peer, library string) {
	t.Helper()
	for i := range semaphoreClients {
		peer.Send(t, "semaphore", fmt.Sprint("c", i), o.id.Path, "1")
		o.awaitLock("one more contender", func(l *inspect.Lock) bool {
			return l.Recipe == library && len(l.Holders) == 1 && l.Contention() == i+1
		})
	}
	left := semaphoreClients - 1
	peer.Send(t, "close", "c4") // gives up
	o.awaitLock("one contender less", func(l *inspect.Lock) bool { return l.Contention() == left })
	for _, name := range []string{"c0", "c1", "c2", "c3", "c5"} {
		before := o.seen.Lock(o.id).Holders[0]
		peer.Send(t, "close", name)
		left--
		o.awaitLock("the next holder", func(l *inspect.Lock) bool {
			return l.Contention() == left && (left == 0 || len(l.Holders) == 1 && l.Holders[0].Name != before.Name)
		})
	}
}

// The server removes the directory of permits, a container, while it is empty. The waiters in the
// other directory keep waiting.
func TestRemovedPermitsDirectoryKeepsWaiters(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		s.dirs("/sem", "/sem/leases", "/sem/locks")
		lease := s.create("/sem/leases"+firstLease, "a", contender)
		s.create("/sem/locks"+secondLock, "b", contender)
		o := s.follow("/sem")
		o.awaitLock("a holder and a waiter", func(l *inspect.Lock) bool {
			return brief(l) == "curator semaphore contended 1+1 of 0"
		})
		s.remove(lease)
		s.remove(s.root + "/sem/leases")
		o.awaitLock("no holder", func(l *inspect.Lock) bool { return len(l.Holders) == 0 })
		s.dirs("/after")
		s.create("/after"+firstLock, "a", contender)
		o.await("a later lock", func(snapshot *inspect.Snapshot) bool { return snapshot.Lock(s.id("/after")) != nil })
		must.Equal(t, o.seen.Lock(o.id).Contention(), 1, "contenders left")
		s.create("/sem/locks"+thirdLock, "c", contender)
		o.awaitLock("another waiter", func(l *inspect.Lock) bool { return l.Contention() == 2 })
		s.dirs("/sem/leases")
		s.create("/sem/leases"+secondLease, "b", contender)
		o.awaitLock("the next holder", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
		for _, e := range o.events {
			must.True(t, e.Kind != inspect.EventGone, e.Kind, e.Contender.Name)
		}
	})
}

// A new Curator semaphore looks like a mutex until its first client, at the head of the queue,
// creates the directory of permits. That client still waits when the queue turns out to be a part.
func TestCuratorSemaphoreIsNeverCertainMutex(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		for sem, leaves := range map[string]bool{"/leaves": true, "/stays": false} {
			o, queue := s.follow(sem), s.id(sem+"/locks")
			s.dirs(sem, sem+"/locks")
			first := s.create(sem+"/locks"+firstLock, "a", contender)
			o.await("its queue", func(s *inspect.Snapshot) bool { return s.Lock(queue) != nil })
			must.Equal(t, o.seen.Lock(queue).KindConfidence, recipe.Possible, "the queue's kind")
			s.dirs(sem + "/leases")
			s.create(sem+"/leases"+firstLease, "a", contender)
			if leaves {
				s.remove(first)
			}
			o.awaitLock("the permit", func(l *inspect.Lock) bool {
				return l.Kind == inspect.KindSemaphore && len(l.Holders) == 1 && (!leaves || len(l.Waiters) == 0)
			})
			must.True(t, !leaves || o.seen.Lock(queue) == nil, "the queue is a separate lock", o.seen.Lock(queue))
			o.await("one lock", func(s *inspect.Snapshot) bool { return s.Lock(queue) == nil })
			for _, e := range o.all {
				ended := e.Kind != inspect.EventAcquired && e.Kind != inspect.EventWaiting
				if e.Lock == queue && e.Contender != nil {
					must.True(t, e.Certainty != recipe.Certain, sem, e.Kind, e.Contender.Name, e.Certainty)
					must.True(t, !ended || leaves, sem, e.Kind, e.Contender.Name, "did not leave")
				}
			}
		}
	})
}

// The only member of a registry looks like a lock of one node until the second member appears.
func TestSecondRegistryMemberCausesNoRelease(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		s.dirs("/members")
		o := s.follow("/members/a")
		s.create("/members/a", "", zk.FlagEphemeral)
		o.awaitLock("taken for a lock", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
		s.create("/members/b", "", zk.FlagEphemeral)
		o.await("not a lock", func(s *inspect.Snapshot) bool { return s.Lock(o.id) == nil })
		for _, e := range o.events {
			must.True(t, e.Kind != inspect.EventReleased, e)
		}
	})
}
