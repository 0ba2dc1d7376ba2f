package lockops_test

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/servertest"
	"lockscope/lockops"
)

// cycle acquires and releases.
func cycle(b *testing.B, l lockops.Locker) {
	for b.Loop() {
		release(b, acquire(b, l))
	}
}

func BenchmarkZKMutex(b *testing.B) {
	server := servertest.StartZooKeeper(b)
	b.Run("floor", func(b *testing.B) { // create and delete
		conn := plain(b, server.Addr)
		for b.Loop() {
			path, err := conn.Create("/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			if err == nil {
				err = conn.Delete(path, -1)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("zk.Lock", func(b *testing.B) {
		l := zk.NewLock(plain(b, server.Addr), "/peer", zk.WorldACL(zk.PermAll))
		for b.Loop() {
			if err := l.Lock(); err != nil {
				b.Fatal(err)
			}
			if err := l.Unlock(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lockops", func(b *testing.B) { cycle(b, lockops.NewZKMutex(zkSession(b, server.Addr), "/ours")) })
}

func BenchmarkRedisMutex(b *testing.B) {
	master := servertest.StartRedis(b)
	b.Run("floor", func(b *testing.B) { // SET and DEL by go-redis
		c := redisClient(b, master)
		for b.Loop() {
			if err := errors.Join(c.SetNX(b.Context(), "floor", "x", 1e10).Err(), c.Del(b.Context(), "floor").Err()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("lockops", func(b *testing.B) { cycle(b, lockops.NewRedisMutex(redisSession(b, master), "lock")) })
}

func BenchmarkRedlock(b *testing.B) {
	var masters []*servertest.Redis
	for range 5 {
		masters = append(masters, servertest.StartRedis(b))
	}
	b.Run("lockops", func(b *testing.B) { cycle(b, lockops.NewRedlock(redisSession(b, masters...), "lock")) })
}
