package zksource_test

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

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
					if granted && e.Previous == nil && e.Contender.HeldSince.Before(e.Contender.Since) {
						t.Errorf("granted before it queued: %+v", e.Contender)
					}
				}
				grants, ends := got[inspect.EventAcquired]+got[inspect.EventHandover], got[inspect.EventReleased]+got[inspect.EventExpired]
				queued := got[inspect.EventWaiting] // the first may hold at once
				if grants != semaphoreClients-1 || ends != grants || got[inspect.EventGone] != 1 || queued < grants || queued > grants+1 {
					t.Errorf("%v\n%+v", got, o.events)
				}
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
			return l.Kind == inspect.KindSemaphore && len(l.Holders) == 1 && len(l.Waiters) == 1
		})
		s.remove(lease)
		s.remove(s.root + "/sem/leases")
		o.awaitLock("no holder", func(l *inspect.Lock) bool { return len(l.Holders) == 0 })
		s.dirs("/after")
		s.create("/after"+firstLock, "a", contender)
		o.await("a later lock", func(snapshot *inspect.Snapshot) bool { return snapshot.Lock(s.id("/after")) != nil })
		if l := o.seen.Lock(o.id); l == nil || l.Contention() != 1 {
			t.Errorf("%+v", l)
		}
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
			if l := o.seen.Lock(queue); l.KindConfidence != recipe.Possible {
				t.Errorf("the queue is a %s with confidence %q", l.Kind, l.KindConfidence)
			}
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
				if e.Lock == queue && e.Contender != nil && (e.Certainty == recipe.Certain || ended && !leaves) {
					t.Errorf("%s %s %s, %s", sem, e.Kind, e.Contender.Name, e.Certainty)
				}
			}
		}
	})
}

// Recreated directories may be another lock, unless the semaphore's permits or queue remained.
func TestSemaphoreRecreatedAsMutexIsMutex(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		for i, gone := range [][]string{{"/leases", "/locks"}, {"/locks", "/leases"}, {"/leases", "/locks", ""}} {
			sem := fmt.Sprint("/sem", i)
			o := s.follow(sem)
			s.dirs(sem, sem+"/leases", sem+"/locks")
			lease := s.create(sem+"/leases"+firstLease, "a", contender)
			o.awaitLock("held", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
			s.remove(lease)
			for _, p := range gone {
				s.remove(s.root + sem + p)
			}
			if len(gone) == 3 {
				s.dirs(sem)
			}
			s.dirs(sem + "/locks")
			s.create(sem+"/locks"+secondLock, "b", contender)
			o.await("the mutex", func(snapshot *inspect.Snapshot) bool {
				l := snapshot.Lock(s.id(sem + "/locks"))
				return l != nil && len(l.Holders) == 1
			})
			if l := o.seen.Lock(o.id); l != nil && l.Contention() > 0 {
				t.Errorf("%v: %+v", gone, l)
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
