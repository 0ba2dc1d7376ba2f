package zksource_test

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
)

// nothingEndedFor fails on any event at that path except an uncertain acquisition or wait.
func (o *following) nothingEndedFor(path string) {
	o.t.Helper()
	for _, e := range o.all {
		if e.Lock.Path != path || e.Contender == nil {
			continue
		}
		if e.Certainty == recipe.Certain || e.Kind != inspect.EventAcquired && e.Kind != inspect.EventWaiting {
			o.t.Errorf("%s %s %s, %s", path, e.Kind, e.Contender.Name, e.Certainty)
		}
	}
}

// A new Curator semaphore looks like a mutex until its first client, at the head of the queue,
// creates the directory of permits.
func TestCuratorSemaphoreIsNeverCertainMutex(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		sem := root + "/sem"
		o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}, sem)
		queue := inspect.ID{Backend: "zk", Path: sem + "/locks"}
		create(t, c, sem, "", 0)
		create(t, c, sem+"/locks", "", 0)
		first := create(t, c, sem+"/locks/_c_11111111-1111-4111-8111-111111111111-lock-", "a", contender)
		o.await("its queue", func(s *inspect.Snapshot) bool { return s.Lock(queue) != nil })
		if l := o.seen.Lock(queue); l.KindConfidence != recipe.Possible {
			t.Errorf("the queue is a %s with confidence %q", l.Kind, l.KindConfidence)
		}
		create(t, c, sem+"/leases", "", 0)
		create(t, c, sem+"/leases/_c_11111111-1111-4111-8111-111111111111-lease-", "a", contender)
		remove(t, c, first)
		o.awaitLock("the permit", func(l *inspect.Lock) bool {
			return l.Kind == inspect.KindSemaphore && len(l.Holders) == 1 && len(l.Waiters) == 0
		})
		if l := o.seen.Lock(queue); l != nil {
			t.Errorf("the queue is a separate lock: %+v", l)
		}
		for _, e := range o.all {
			if e.Lock == queue && e.Contender != nil && e.Certainty == recipe.Certain {
				t.Errorf("%s %s", e.Kind, e.Contender.Name)
			}
		}
	})
}

// The client still waits when the queue turns out to be part of a semaphore.
func TestNewCuratorSemaphoreReportsNoRelease(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		sem := root + "/sem"
		o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}, sem)
		queue := inspect.ID{Backend: "zk", Path: sem + "/locks"}
		create(t, c, sem, "", 0)
		create(t, c, sem+"/locks", "", 0)
		create(t, c, sem+"/locks/_c_11111111-1111-4111-8111-111111111111-lock-", "a", contender)
		o.await("its queue", func(s *inspect.Snapshot) bool { return s.Lock(queue) != nil })
		create(t, c, sem+"/leases", "", 0)
		create(t, c, sem+"/leases/_c_11111111-1111-4111-8111-111111111111-lease-", "a", contender)
		o.awaitLock("the permit", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
		o.await("one lock", func(s *inspect.Snapshot) bool { return s.Lock(queue) == nil })
		o.nothingEndedFor(queue.Path)
	})
}

// Recreated directories may be another lock, unless the semaphore's permits or queue remained.
func TestSemaphoreRecreatedAsMutexIsMutex(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		for _, gone := range [][]string{{"/leases", "/locks"}, {"/locks", "/leases"}, {"/leases", "/locks", ""}} {
			sem := root + "/sem" + gone[0][1:] + string(rune('a'+len(gone)))
			o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}, sem)
			for _, p := range []string{sem, sem + "/leases", sem + "/locks"} {
				create(t, c, p, "", 0)
			}
			lease := create(t, c, sem+"/leases/_c_11111111-1111-4111-8111-111111111111-lease-", "a", contender)
			o.awaitLock("held", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
			remove(t, c, lease)
			for _, p := range gone {
				remove(t, c, sem+p)
			}
			if len(gone) == 3 {
				create(t, c, sem, "", 0)
			}
			create(t, c, sem+"/locks", "", 0)
			create(t, c, sem+"/locks/_c_22222222-2222-4222-8222-222222222222-lock-", "b", contender)
			o.await("the mutex", func(s *inspect.Snapshot) bool {
				l := s.Lock(inspect.ID{Backend: "zk", Path: sem + "/locks"})
				return l != nil && len(l.Holders) == 1
			})
			if l := o.seen.Lock(o.id); l != nil && (len(l.Waiters) > 0 || len(l.Holders) > 0) {
				t.Errorf("%v: %+v", gone, l)
			}
		}
	})
}

// The only member of a registry looks like a lock of one node until the second member appears.
func TestSecondRegistryMemberCausesNoRelease(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		create(t, c, root+"/members", "", 0)
		o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}, root+"/members/a")
		create(t, c, root+"/members/a", "", zk.FlagEphemeral)
		o.awaitLock("taken for a lock", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
		create(t, c, root+"/members/b", "", zk.FlagEphemeral)
		o.await("not a lock", func(s *inspect.Snapshot) bool { return s.Lock(o.id) == nil })
		for _, e := range o.all {
			if e.Lock == o.id && e.Kind == inspect.EventReleased {
				t.Errorf("%s %s, %s", e.Kind, e.Contender.Name, e.Certainty)
			}
		}
	})
}
