package lockops_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/servertest"
	"lockscope/lockops"
)

// TestQueuesWithKazoo: with the recipe "kazoo" we wait for a real kazoo client, and it waits for us.
func TestQueuesWithKazoo(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		peer := servertest.StartKazoo(t, server.Addr, path, "peer")
		peer.Expect(t, "acquired")
		_, first := queueUp(t, within(t), mutexOn(s, path, lockops.WithRecipe("kazoo")))
		second := servertest.StartKazoo(t, server.Addr, path, "second")
		eventually(t, "three in the queue", func() bool { return len(children(t, server, path)) == 3 })
		peer.Release(t)
		peer.Expect(t, "released")
		ours := <-first
		if ours.err != nil {
			t.Fatal(ours.err)
		}
		if n := len(children(t, server, path)); n != 2 {
			t.Errorf("%d in the queue while we hold, want 2", n)
		}
		release(t, ours.h)
		second.Expect(t, "acquired")
		second.Release(t)
		second.Expect(t, "released")
		release(t, acquire(t, lockops.NewZKMutex(s, path, lockops.WithRecipe("kazoo"))))
	})
}

// TestQueuesWithGoZooKeeper: contenders of our curator recipe and of the client library's own Lock take turns.
func TestQueuesWithGoZooKeeper(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		conn := plain(t, server.Addr)
		var inside, peers atomic.Int32
		var all sync.WaitGroup
		enter := func() {
			if inside.Add(1) != 1 {
				t.Error("two holders at once")
			}
			inside.Add(-1)
		}
		for range 3 {
			all.Go(func() {
				for range 10 {
					l := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
					if err := l.Lock(); err != nil {
						t.Error(err)
						return
					}
					enter()
					peers.Add(1)
					if err := l.Unlock(); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				contend(t, 1, 10, func(int) lockops.Locker { return lockops.NewZKMutex(s, path) }, func(*lockops.Hold) { enter() })
			})
		}
		all.Wait()
		if n := peers.Load(); n != 30 {
			t.Errorf("the peers had the lock %d times, want 30", n)
		}
	})
}

// TestKeepsOutRedisPy: a real redis-py Lock and our mutex keep each other out.
func TestKeepsOutRedisPy(t *testing.T) {
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		h := acquire(t, lockops.NewRedisMutex(redisSession(t, masters[0]), key))
		peer := servertest.StartRedisPy(t, masters[0].Addr, key)
		if h.Context().Err() != nil {
			t.Fatal(context.Cause(h.Context()))
		}
		release(t, h)
		peer.Expect(t, "acquired")
		waiting := make(chan string, 1)
		got := make(chan acquired, 1)
		m := lockops.NewRedisMutex(redisSession(t, masters[0]), key, lockops.OnWaiting(func(name string) { waiting <- name }))
		go func() {
			h, err := m.Acquire(within(t))
			got <- acquired{h, err}
		}()
		<-waiting
		peer.Release(t)
		a := <-got
		if a.err != nil {
			t.Fatal(a.err)
		}
		release(t, a.h)
	})
}
