package lockops_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// eachSemaphore runs f for both recipes on every kind of server, with the directories of the leases
// and of the queue.
func eachSemaphore(t *testing.T, f func(t *testing.T, server *servertest.ZooKeeper, recipe, path, leases, queue string)) {
	for _, recipe := range []string{"curator", "kazoo"} {
		t.Run(recipe, func(t *testing.T) {
			eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
				leases, queue := path+"/leases", path+"/locks"
				if recipe == "kazoo" {
					leases, queue = path, path+"-__lock__"
				}
				f(t, server, recipe, path, leases, queue)
			})
		})
	}
}

func semaphoreOn(s *lockops.ZKSession, path string, permits int, recipe string) func(...lockops.Option) lockops.Locker {
	return func(more ...lockops.Option) lockops.Locker {
		return lockops.NewZKSemaphore(s, path, permits, append(more, lockops.WithRecipe(recipe))...)
	}
}

// Contenders in several sessions, some of which give up, never hold more than the permits and leave
// no nodes.
func TestZKSemaphoreIsNeverOverdrawn(t *testing.T) {
	t.Parallel()
	eachSemaphore(t, func(t *testing.T, server *servertest.ZooKeeper, recipe, path, leases, queue string) {
		const permits = 3
		sessions := []*lockops.ZKSession{zkSession(t, server.Addr), zkSession(t, server.Addr)}
		var inside atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				l := semaphoreOn(sessions[i%2], path, permits, recipe)()
				for round := range 10 {
					limit := 20 * time.Second
					if round%3 == 2 {
						limit = time.Millisecond
					}
					h, err := l.Acquire(limited(t, limit))
					if err != nil {
						must.True(t, round%3 == 2 && errors.Is(err, context.DeadlineExceeded), err)
						continue
					}
					n := inside.Add(1)
					must.True(t, n <= permits, n, "holders of", permits, "permits")
					_, ok := h.Token()
					must.True(t, ok, "no token")
					must.Be(t, h.Extend(within(t)), nil)
					inside.Add(-1)
					must.Be(t, h.Release(within(t)), nil)
				}
			})
		}
		all.Wait()
		becomeEmpty(t, server, leases)
		becomeEmpty(t, server, queue)
	})
}

// When all permits are taken, TryAcquire fails at once and leaves no node. Waiters learn their
// place and get the permits in order.
func TestZKSemaphoreWaitsAndTries(t *testing.T) {
	t.Parallel()
	eachSemaphore(t, func(t *testing.T, server *servertest.ZooKeeper, recipe, path, leases, queue string) {
		s := zkSession(t, server.Addr)
		semaphore := semaphoreOn(s, path, 2, recipe)
		one, two := acquire(t, semaphore()), acquire(t, semaphore())
		refused(t, semaphore(), lockops.ErrHeld)
		must.Equal(t, len(children(t, server, leases)), 2, "permits after TryAcquire")
		places := make(chan lockops.Queue, 100)
		note := lockops.OnBehind(func(q lockops.Queue) { places <- q })
		_, first := mustQueue(t, within(t), func(more ...lockops.Option) lockops.Locker {
			return semaphore(append(more, note)...)
		})
		_, second := mustQueue(t, within(t), semaphore)
		place := lockops.Await(t, "the first waiter's place", places)
		must.True(t, place.Position == 1 && place.Holder != "", "the first waiter's place", place)
		release(t, two)
		a := granted(t, first)
		must.Equal(t, len(second), 0, "grants to the second waiter")
		release(t, one)
		b := granted(t, second)
		release(t, a, b)
		release(t, must.Have(semaphore().TryAcquire(within(t)))(t))
		must.Same(t, append(children(t, server, leases), children(t, server, queue)...), nil, "nodes left")
	})
}

// A waiter looks at the permits again when the answer to its watch is lost.
func TestAPermitIsAwaitedAcrossConnections(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	for _, recipe := range []string{"curator", "kazoo"} {
		path := "/" + recipe
		h := acquire(t, semaphoreOn(zkSession(t, server.Addr), path, 1, recipe)())
		_, got := mustQueue(t, within(t), semaphoreOn(zkSession(t, p.addr()), path, 1, recipe))
		p.cutReply.Store(opList)
		p.cut()
		must.Become(t, "the answer is lost", func() bool { return p.cutReply.Load() == 0 })
		release(t, h)
		release(t, granted(t, got))
	}
}

// Real clients of both libraries and our contenders wait for each other's permits in one queue.
func TestSemaphoreQueuesWithPeers(t *testing.T) {
	t.Parallel()
	eachSemaphore(t, func(t *testing.T, server *servertest.ZooKeeper, recipe, path, _, queue string) {
		var peer *servertest.Peer
		if recipe == "kazoo" {
			peer = servertest.StartKazooLocks(t, server.Addr)
		} else {
			peer = servertest.StartCurator(t, server.Addr)
		}
		s := zkSession(t, server.Addr)
		semaphore := semaphoreOn(s, path, 2, recipe)
		peer.Send(t, "semaphore", "one", path, "2")
		peer.Expect(t, "acquired semaphore one")
		ours := acquire(t, semaphore())
		_, waiting := mustQueue(t, within(t), semaphore) // our waiter
		peer.Send(t, "semaphore", "two", path, "2")      // their waiter, behind ours
		must.Become(t, "both queue", func() bool { return len(children(t, server, queue)) == 2 })
		must.Equal(t, len(waiting), 0, "grants of a third permit")
		peer.Send(t, "close", "one")
		next := granted(t, waiting)
		must.Become(t, "their waiter is next", func() bool { return len(children(t, server, queue)) == 1 })
		release(t, ours)
		peer.Expect(t, "acquired semaphore two")
		refused(t, semaphore(), lockops.ErrHeld, "TryAcquire with their permit")
		release(t, next)
		release(t, acquire(t, semaphore()))
		peer.Send(t, "close", "two")
	})
}

// A semaphore refuses a directory of another kind, recipe or number of permits, and fewer than one
// permit. It leaves no nodes.
func TestSemaphoreRefusesIncompatibleUse(t *testing.T) {
	t.Parallel()
	eachSemaphore(t, func(t *testing.T, server *servertest.ZooKeeper, recipe, path, _, _ string) {
		s := zkSession(t, server.Addr)
		refusal := func(dir string, permits int, recipe string) (refused lockops.RecipeError, err error) {
			_, err = semaphoreOn(s, path+dir, permits, recipe)().Acquire(within(t))
			if found := new(lockops.RecipeError); errors.As(err, &found) {
				refused = *found
			}
			return refused, err
		}
		h := acquire(t, lockops.NewZKMutex(s, path+"/m", lockops.WithRecipe(recipe)))
		found, err := refusal("/m", 2, recipe)
		must.Equal(t, found.FoundKind, "mutex", "kind of the directory", err)
		must.Equal(t, len(children(t, server, path+"/m")), 1, "nodes")
		release(t, h)
		other := map[string]string{"curator": "kazoo", "kazoo": "curator"}[recipe]
		held := acquire(t, semaphoreOn(s, path+"/s", 2, recipe)())
		found, err = refusal("/s", 2, other)
		must.Equal(t, found.Found, recipe, "recipe of the directory", err)
		if recipe == "kazoo" {
			_, err := refusal("/s", 3, recipe)
			must.Be(t, err, lockops.ErrPermits, "3 permits instead of 2")
		}
		release(t, held)
	})
}

// If an operator deletes a waiter's node, another waiter is next, but no client gets an extra
// permit.
func TestSemaphoreSurvivesDeletedWaiterNode(t *testing.T) {
	t.Parallel()
	eachSemaphore(t, func(t *testing.T, server *servertest.ZooKeeper, recipe, path, leases, queue string) {
		s := zkSession(t, server.Addr)
		semaphore := semaphoreOn(s, path, 1, recipe)
		h := acquire(t, semaphore())
		_, first := mustQueue(t, within(t), semaphore)
		_, second := mustQueue(t, within(t), semaphore)
		oldest := slices.MinFunc(children(t, server, queue), func(a, b string) int {
			return strings.Compare(a[len(a)-10:], b[len(b)-10:])
		})
		isAny(t, plain(t, server.Addr).Delete(queue+"/"+oldest, -1), nil, zk.ErrNoNode)
		must.Become(t, "the waiter queues again", func() bool {
			now := children(t, server, queue)
			return len(now) == 2 && !slices.Contains(now, oldest)
		})
		release(t, h)
		for range 2 {
			var a acquired
			select {
			case a = <-first:
			case a = <-second:
			}
			must.Succeed(t, a.err)
			must.Be(t, a.h.Extend(within(t)), nil)
			must.Equal(t, len(first)+len(second), 0, "grants to the other waiter")
			release(t, a.h)
		}
		must.Same(t, children(t, server, leases), nil, "leases left")
	})
}
