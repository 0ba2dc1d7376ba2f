package redissource_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// oneMaster configures a backend with one master.
func oneMaster(o redis.UniversalOptions) redissource.Config {
	cfg := config(nil)
	cfg.Masters = []*redis.UniversalOptions{&o}
	return cfg
}

// A replaced master keeps answering for a while. The source leaves it once it asks the sentinels
// again, and reports a gap.
func TestReplacedMasterIsAbandoned(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	set(t, master, "lock:a", "x", 0)
	v, _ := watch(t, oneMaster(redis.UniversalOptions{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}))
	v.Await("held", holder(v, "lock:a", "x"))
	must.Succeed(t, client(t, master).Wait(context.Background(), 1, time.Minute).Err())
	c := redis.NewSentinelClient(&redis.Options{Addr: sentinel})
	defer c.Close()
	must.Become(t, "a failover begins", func() bool { return c.Failover(context.Background(), servertest.SentinelMaster).Err() == nil })
	v.Await("the new master, and a gap", func() bool {
		return v.Backend.Servers[0].Addr == replica.Addr && v.Gap != nil && v.Gap.Until.After(v.Gap.From)
	})
	set(t, replica, "lock:a", "z", 0)
	v.Await("the new master's key", holder(v, "lock:a", "z"))
}

func TestASocketIsReadByPush(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "redis.sock")
	m := servertest.StartRedis(t, "--unixsocket", path)
	v, _ := watch(t, oneMaster(redis.UniversalOptions{Addrs: []string{path}}))
	awaitPush(v)
	set(t, m, "lock:a", "x", 0)
	v.Await("held", holder(v, "lock:a", "x"))
	v.Await("its name", func() bool { return v.Backend.Servers[0].Addr == path })
}

func TestWaiterMaySubscribeOnReplica(t *testing.T) {
	t.Parallel()
	const waiter = "0c4f6a52-6d4c-4b3c-8f52-0c4f6a526d4c:1"
	m := servertest.StartRedis(t)
	c, ctx := client(t, m), context.Background()
	c.HSet(ctx, "lock:a", "1c4f6a52-6d4c-4b3c-8f52-0c4f6a526d4c:7", 1)
	c.RPush(ctx, "redisson_lock_queue:{lock:a}", waiter)
	dead := func(want bool) {
		t.Helper()
		l := once(t, config([]*servertest.Redis{m})).Locks["lock:a"]
		if l == nil || len(l.Waiters) != 1 || l.Waiters[0].Dead != want {
			t.Errorf("dead should be %v: %+v", want, l)
		}
	}
	dead(true)
	host, port, err := net.SplitHostPort(m.Addr)
	must.Succeed(t, err)
	replica := client(t, servertest.StartRedis(t, "--replicaof", host+" "+port))
	must.Become(t, "the key is replicated", func() bool { return replica.Exists(ctx, "lock:a").Val() != 0 })
	dead(false)
}

// A killed waiter's heartbeats stop, but it stays in the queue until the next handoff.
func TestKilledFairWaiterIsDead(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c, ctx := client(t, m), context.Background()
	live, killed := recipe.LockscopeToken([16]byte{2}, "live"), recipe.LockscopeToken([16]byte{3}, "killed")
	c.Set(ctx, "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), time.Hour)
	now := c.Time(ctx).Val()
	for _, waiter := range []string{live, killed} {
		c.ZAdd(ctx, recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), redis.Z{Score: float64(now.Add(-time.Minute).UnixMicro()), Member: waiter})
	}
	beats := recipe.LockscopeKey(recipe.AlivePrefix, "lock:a")
	c.HSet(ctx, beats, live, now.Add(time.Hour).UnixMicro(), killed, now.Add(-3*time.Second).UnixMicro())
	l := once(t, config([]*servertest.Redis{m})).Locks["lock:a"]
	if l == nil || len(l.Waiters) != 2 {
		t.Fatalf("%+v", l)
	}
	for _, w := range l.Waiters {
		must.Equal(t, w.Dead, w.Name.Raw() == killed, w.Name, "dead")
	}
}
