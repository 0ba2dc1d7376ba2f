package soak

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/servertest"
)

// world is all servers, and the wires to some of them.
type world struct {
	ensemble *servertest.Ensemble
	zk       []*servertest.ZooKeeper
	zkLook   []*servertest.Wire // to each, for the observer; the ensemble has others for the clients

	masters []*servertest.Redis // of the Redlock
	look    []*servertest.Wire  // to each, for the observer

	sentinels []*servertest.Redis
	watched   []*servertest.Redis // by the sentinels: a master and a replica, initially in this order

	cluster []*servertest.Redis // three masters and their replicas, initially in this order
}

func start(t *testing.T) *world {
	t.Helper()
	ensemble := servertest.StartEnsemble(t, servertest.EnsembleConfig{})
	w := &world{ensemble: ensemble, zk: ensemble.Members}
	for _, z := range w.zk {
		w.zkLook = append(w.zkLook, servertest.StartWire(t, z.Addr))
	}
	for range 5 {
		m := servertest.StartRedis(t)
		w.masters = append(w.masters, m)
		w.look = append(w.look, servertest.StartWire(t, m.Addr))
	}
	w.sentinels, w.watched = servertest.StartRedisSentinels(t, 3)
	masters, replicas := servertest.StartRedisClusterWithReplicas(t, 3)
	w.cluster = append(masters, replicas...)
	return w
}

const (
	zkName, redlockName, sentinelName, clusterName = "zk", "five", "sentinel", "cluster"
)

// targets are the command line's targets, without wires.
func (w *world) targets() []string {
	return []string{
		"zk://" + strings.Join(zkAddrs(w.zk), ",") + "/soak?name=" + zkName + "&admin=" + strings.Join(adminAddrs(w.zk), ","),
		"redis://" + strings.Join(redisAddrs(w.masters), ",") + "?name=" + redlockName,
		"redis+sentinel://" + strings.Join(redisAddrs(w.sentinels), ",") + "/" + servertest.SentinelMaster + "?name=" + sentinelName,
		"redis+cluster://" + strings.Join(redisAddrs(w.cluster), ",") + "?name=" + clusterName,
	}
}

// redisOptions are the servers of each Redis backend. five are the addresses of the Redlock's masters.
func (w *world) redisOptions(five []string) map[string][]*redis.UniversalOptions {
	one := func(addr string) *redis.UniversalOptions { return &redis.UniversalOptions{Addrs: []string{addr}} }
	return map[string][]*redis.UniversalOptions{
		redlockName:  each.Of(five, one),
		sentinelName: {{Addrs: redisAddrs(w.sentinels), MasterName: servertest.SentinelMaster}},
		clusterName:  {{Addrs: redisAddrs(w.cluster), IsClusterMode: true}},
	}
}

func zkAddrs(list []*servertest.ZooKeeper) []string {
	return each.Of(list, func(z *servertest.ZooKeeper) string { return z.Addr })
}

func adminAddrs(list []*servertest.ZooKeeper) []string {
	return each.Of(list, func(z *servertest.ZooKeeper) string { return z.Admin })
}

func redisAddrs(list []*servertest.Redis) []string {
	return each.Of(list, func(r *servertest.Redis) string { return r.Addr })
}

func wireAddrs(list []*servertest.Wire) []string { return each.Of(list, (*servertest.Wire).Addr) }
