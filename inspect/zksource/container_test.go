package zksource_test

import (
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The directory of a semaphore's permits is a container: a server removes it where it finds it empty, between
// one permit and the next, and the waiters in the other directory go on waiting.
func TestWhoWaitsForASemaphoreStaysWhenItsEmptyPermitsAreRemoved(t *testing.T) {
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
		o.awaitLock("one waits", func(l *inspect.Lock) bool {
			return l.Kind == inspect.KindSemaphore && len(l.Holders) == 1 && len(l.Waiters) == 1
		})
		remove(t, c, lease)
		remove(t, c, sem+"/leases")
		o.awaitLock("nobody holds", func(l *inspect.Lock) bool { return len(l.Holders) == 0 })
		create(t, c, root+"/after", "", 0)
		create(t, c, root+"/after/_c_11111111-1111-4111-8111-111111111111-lock-", "a", contender)
		o.await("what came after", func(s *inspect.Snapshot) bool { return s.Lock(inspect.ID{Backend: "zk", Path: root + "/after"}) != nil })
		l := o.seen.Lock(o.id)
		if l == nil || len(l.Waiters)+len(l.Holders) != 1 {
			t.Errorf("%+v", l)
		}
		create(t, c, sem+"/locks/_c_33333333-3333-4333-8333-333333333333-lock-", "c", contender)
		o.awaitLock("another has come", func(l *inspect.Lock) bool { return len(l.Holders)+len(l.Waiters) == 2 })
		create(t, c, sem+"/leases", "", 0)
		create(t, c, sem+"/leases/_c_22222222-2222-4222-8222-222222222222-lease-", "b", contender)
		o.awaitLock("the next has it", func(l *inspect.Lock) bool { return len(l.Holders) == 1 })
		for _, e := range o.events {
			must.True(t, e.Kind != inspect.EventGone, e.Kind, e.Contender.Name)
		}
	})
}
