package soak

import (
	"strings"
	"testing"

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
	var admins []string
	for _, z := range w.zk {
		admins = append(admins, z.Admin)
	}
	return []string{
		"zk://" + strings.Join(zkAddrs(w.zk), ",") + "/soak?name=" + zkName + "&admin=" + strings.Join(admins, ","),
		"redis://" + strings.Join(redisAddrs(w.masters), ",") + "?name=" + redlockName,
		"redis+sentinel://" + strings.Join(redisAddrs(w.sentinels), ",") + "/" + servertest.SentinelMaster + "?name=" + sentinelName,
		"redis+cluster://" + strings.Join(redisAddrs(w.cluster), ",") + "?name=" + clusterName,
	}
}

func zkAddrs(list []*servertest.ZooKeeper) []string {
	var addrs []string
	for _, z := range list {
		addrs = append(addrs, z.Addr)
	}
	return addrs
}

func redisAddrs(list []*servertest.Redis) []string {
	var addrs []string
	for _, r := range list {
		addrs = append(addrs, r.Addr)
	}
	return addrs
}

func wireAddrs(list []*servertest.Wire) []string {
	var addrs []string
	for _, p := range list {
		addrs = append(addrs, p.Addr())
	}
	return addrs
}
