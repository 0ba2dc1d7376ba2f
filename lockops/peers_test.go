package lockops_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// Our "kazoo" recipe and a real kazoo client wait for each other.
func TestQueuesWithKazoo(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		kazoo := mutexMaker(zkSession(t, server.Addr), path, lockops.WithRecipe("kazoo"))
		peer := servertest.StartKazoo(t, server.Addr, path, "peer")
		peer.Expect(t, "acquired")
		_, first := mustQueue(t, within(t), kazoo)
		second := servertest.StartKazoo(t, server.Addr, path, "second")
		must.Become(t, "three contenders in the queue", func() bool { return len(children(t, server, path)) == 3 })
		peer.Release(t)
		peer.Expect(t, "released")
		ours := granted(t, first)
		must.Equal(t, len(children(t, server, path)), 2, "contenders while we hold")
		release(t, ours)
		second.Expect(t, "acquired")
		second.Release(t)
		second.Expect(t, "released")
		release(t, acquire(t, kazoo()))
	})
}

// Our curator recipe and the Lock of go-zookeeper exclude each other.
func TestQueuesWithGoZooKeeper(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s := zkSession(t, server.Addr)
		conn := plain(t, server.Addr)
		var inside atomic.Int32
		var all sync.WaitGroup
		enter := func() {
			must.Equal(t, inside.Add(1), 1, "two holders at once")
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
					must.Be(t, l.Unlock(), nil)
				}
			})
			all.Go(func() {
				mutex := func(int) lockops.Locker { return lockops.NewZKMutex(s, path) }
				neverTwoHolders(t, 1, 10, mutex, func(*lockops.Hold) { enter() })
			})
		}
		all.Wait()
	})
}

// A real redis-py Lock and our mutex exclude each other.
func TestKeepsOutRedisPy(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		h := acquire(t, lockops.NewRedisMutex(redisSession(t, masters[0]), key))
		peer := servertest.StartRedisPy(t, masters[0].Addr, key)
		must.Succeed(t, context.Cause(h.Context()))
		release(t, h)
		peer.Expect(t, "acquired")
		_, got := mustQueue(t, within(t), kindMaker(t, redisKind("mutex"), redisSession(t, masters[0]), key))
		peer.Release(t)
		release(t, granted(t, got))
	})
}

// Our readers and writers queue with a real kazoo ReadLock and WriteLock.
func TestReadersAndWritersQueueWithKazoo(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		queueWithPeers(t, server, servertest.StartKazooLocks(t, server.Addr), lockops.WithRecipe("kazoo"))
	})
}

// Our readers and writers queue with Curator's real InterProcessReadWriteLock.
func TestReadersAndWritersQueueWithCurator(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		queueWithPeers(t, server, servertest.StartCurator(t, server.Addr), lockops.WithRecipe("curator"))
	})
}

// queueWithPeers lets a read or write of ours meet one of theirs on a lock, whichever comes first. Two reads share the
// lock, others wait for each other.
func queueWithPeers(t *testing.T, server *servertest.ZooKeeper, peer *servertest.Peer, recipe lockops.Option) {
	s := zkSession(t, server.Addr)
	word := map[byte]string{'r': "read", 'w': "write"}
	for _, pair := range []string{"rw", "wr", "ww", "rr"} {
		first, second := pair[0], pair[1]
		together := pair == "rr"
		t.Run(word[second]+" of ours during their "+word[first], func(t *testing.T) {
			path := servertest.UniquePath(t)
			peer.Send(t, word[first], "one", path)
			peer.Expect(t, "acquired "+word[first])
			if together {
				h := acquire(t, reentrantMaker(s, path, second, recipe)())
				peer.Send(t, "close", "one")
				release(t, h)
				return
			}
			_, got := mustQueue(t, within(t), reentrantMaker(s, path, second, recipe))
			refused(t, reentrantMaker(s, path, second, recipe)(), lockops.ErrHeld)
			must.Equal(t, len(got), 0, "grants")
			peer.Send(t, "close", "one")
			release(t, granted(t, got))
		})
		t.Run(word[second]+" of theirs during our "+word[first], func(t *testing.T) {
			path := servertest.UniquePath(t)
			h := acquire(t, reentrantMaker(s, path, first, recipe)())
			peer.Send(t, word[second], "two", path)
			if !together {
				must.Become(t, "their node watches ours", func() bool { return watchedByOthers(t, server, s, path+"/"+h.Name()) })
				release(t, h)
			}
			peer.Expect(t, "acquired "+word[second])
			if together {
				release(t, h)
			}
			peer.Send(t, "close", "two")
		})
	}
	downgradeAmongPeers(t, server, peer, recipe)
}

// downgradeAmongPeers checks that their writer waits until we have downgraded to a read and
// released it.
func downgradeAmongPeers(t *testing.T, server *servertest.ZooKeeper, peer *servertest.Peer, recipe lockops.Option) {
	path := servertest.UniquePath(t)
	s := zkSession(t, server.Addr)
	w := acquire(t, reentrantWriter(s, path, recipe))
	peer.Send(t, "write", "three", path)
	must.Become(t, "their node watches our write", func() bool { return watchedByOthers(t, server, s, path+"/"+w.Name()) })
	r := must.Have(reentrantReader(s, path, recipe).Acquire(w.Context()))(t)
	release(t, w)
	must.Become(t, "their node watches our read", func() bool { return watchedByOthers(t, server, s, path+"/"+r.Name()) })
	release(t, r)
	peer.Expect(t, "acquired write")
	peer.Send(t, "close", "three")
}
