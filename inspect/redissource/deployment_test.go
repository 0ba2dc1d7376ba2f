package redissource_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// oneMaster configures a backend with one master.
func oneMaster(o redis.UniversalOptions) redissource.Config {
	cfg := config()
	cfg.Masters = []*redis.UniversalOptions{&o}
	return cfg
}

// A replaced master keeps answering for a while. The source leaves it once it asks the sentinels
// again, and reports a gap.
func TestReplacedMasterIsAbandoned(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	set(t, master, "lock:a", "x", 0)
	v := watch(t, oneMaster(redis.UniversalOptions{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}))
	v.Await("held", holder(v, "lock:a", "x"))
	must.Succeed(t, master.Client(t).Wait(context.Background(), 1, time.Minute).Err())
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
	v := watchPushed(t, oneMaster(redis.UniversalOptions{Addrs: []string{path}}))
	set(t, m, "lock:a", "x", 0)
	v.Await("held", holder(v, "lock:a", "x"))
	v.Await("its name", func() bool { return v.Backend.Servers[0].Addr == path })
}

func TestWaiterMaySubscribeOnReplica(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	run(t, m.Client(t), redissonQueue)
	cfg := config(m)
	expectWaiter(t, once(t, cfg).Locks["lock:a"], true, "")
	replicaOf(t, m, "lock:a")
	expectWaiter(t, once(t, cfg).Locks["lock:a"], false, "")
}
