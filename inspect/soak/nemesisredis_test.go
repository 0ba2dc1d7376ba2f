package soak

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/servertest"
)

func (n *nemesis) pauseMaster() {
	m := n.w.masters[n.random.IntN(len(n.w.masters))]
	defer n.faults.begin("pause master", redlockName, m.Addr)()
	m.Pause(n.t)
	n.briefly()
	m.Resume(n.t)
}

func (n *nemesis) restartMaster() {
	m := n.w.masters[n.random.IntN(len(n.w.masters))]
	end := n.faults.begin("restart master", redlockName, m.Addr)
	m.Kill(n.t)
	n.briefly()
	m.Restart(n.t)
	end()
	time.Sleep(ttl) // a master that comes back empty earlier could grant a lock twice
}

func (n *nemesis) failOver() {
	defer n.faults.begin("failover", sentinelName)()
	old := n.w.masterAddr()
	s := redis.NewSentinelClient(&redis.Options{Addr: n.w.sentinels[0].Addr})
	defer s.Close()
	if err := s.Failover(context.Background(), servertest.SentinelMaster).Err(); err != nil {
		n.t.Logf("failover: %v", err) // in progress already, or the replica is not ready
		return
	}
	if !within(time.Minute, func() bool { return n.w.masterAddr() != old && n.replicates() }) {
		n.t.Log("failover: none within a minute") // the sentinels give up a slow failover
	}
}

func (n *nemesis) killWatchedMaster() {
	if !n.replicates() {
		return
	}
	defer n.faults.begin("kill master", sentinelName)()
	old := n.w.masterAddr()
	for _, r := range n.w.watched {
		if r.Addr == old {
			r.Kill(n.t)
			n.await("another master", func() bool { return n.w.masterAddr() != old })
			r.Restart(n.t)
		}
	}
	n.await("a replica", n.replicates)
}

// masterAddr is the master that a majority of the sentinels name, or empty.
func (w *world) masterAddr() string {
	votes := map[string]int{}
	for _, s := range w.sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
		at, err := c.GetMasterAddrByName(context.Background(), servertest.SentinelMaster).Result()
		c.Close()
		if err == nil {
			addr := net.JoinHostPort(at[0], at[1])
			if votes[addr]++; votes[addr] > len(w.sentinels)/2 {
				return addr
			}
		}
	}
	return ""
}

// replicates reports whether the master has its replica.
func (n *nemesis) replicates() bool {
	master := n.w.masterAddr()
	for _, r := range n.w.watched {
		if r.Addr == master {
			continue
		}
		c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
		info, err := c.InfoMap(context.Background(), "replication").Result()
		c.Close()
		if err != nil || info["Replication"]["master_link_status"] != "up" || info["Replication"]["role"] != "slave" {
			return false
		}
	}
	return master != ""
}

func (n *nemesis) restartSentinel() {
	s := n.w.sentinels[n.random.IntN(len(n.w.sentinels))]
	defer n.faults.begin("restart sentinel", sentinelName, s.Addr)()
	s.Kill(n.t)
	s.Restart(n.t)
}

// roles returns the cluster's current masters, and the replica of each.
func (w *world) roles() (masters []*servertest.Redis, replicas map[*servertest.Redis]*servertest.Redis) {
	replicas = map[*servertest.Redis]*servertest.Redis{}
	byAddr := map[string]*servertest.Redis{}
	for _, r := range w.cluster {
		byAddr[r.Addr] = r
	}
	for _, r := range w.cluster {
		c := redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
		info, err := c.InfoMap(context.Background(), "replication").Result()
		c.Close()
		if err != nil {
			continue
		}
		about := info["Replication"]
		if about["role"] == "master" {
			masters = append(masters, r)
		} else if of := byAddr[net.JoinHostPort(about["master_host"], about["master_port"])]; of != nil && about["master_link_status"] == "up" {
			replicas[of] = r
		}
	}
	return masters, replicas
}

func (n *nemesis) failOverCluster() {
	masters, replicas := n.w.roles()
	if len(masters) != 3 || len(replicas) != 3 {
		return
	}
	old := masters[n.random.IntN(3)]
	replica := replicas[old]
	defer n.faults.begin("cluster failover", clusterName, old.Addr)()
	c := redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer c.Close()
	if err := c.ClusterFailover(context.Background()).Err(); err != nil {
		n.t.Logf("cluster failover: %v", err)
		return
	}
	n.await("the new master of the slots", func() bool {
		_, now := n.w.roles()
		return now[replica] == old
	})
}

func (n *nemesis) restartClusterReplica() {
	_, replicas := n.w.roles()
	for _, m := range n.w.cluster {
		if r := replicas[m]; r != nil {
			defer n.faults.begin("restart replica", clusterName, r.Addr)()
			r.Kill(n.t)
			r.Restart(n.t)
			n.await("three replicas", func() bool { _, now := n.w.roles(); return len(now) == 3 })
			return
		}
	}
}

// moveSlot moves the slot of one lock to another master, key by key as redis-cli does.
func (n *nemesis) moveSlot() {
	masters, _ := n.w.roles()
	if len(masters) != 3 {
		return
	}
	ctx := context.Background()
	key := fmt.Sprintf("lock:slot:%d", n.random.IntN(3))
	defer n.faults.begin("move slot", clusterName)()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: redisAddrs(masters), Protocol: 2})
	defer cluster.Close()
	slot := cluster.ClusterKeySlot(ctx, key).Val()
	from, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		n.t.Logf("move slot: %v", err)
		return
	}
	masters = slices.DeleteFunc(masters, func(m *servertest.Redis) bool { return m.Addr == from.Options().Addr })
	to := redis.NewClient(&redis.Options{Addr: masters[n.random.IntN(len(masters))].Addr, Protocol: 2})
	defer to.Close()
	do := func(c *redis.Client, args ...any) string {
		answer, err := c.Do(ctx, args...).Text()
		if err != nil {
			n.t.Logf("move slot: %v: %v", args, err)
		}
		return answer
	}
	owner := do(to, "CLUSTER", "MYID")
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", do(from, "CLUSTER", "MYID"))
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", owner)
	n.briefly()
	host, port, _ := net.SplitHostPort(to.Options().Addr)
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
		if err != nil || len(keys) == 0 {
			break
		}
		for _, k := range keys {
			do(from, "MIGRATE", host, port, k, 0, 1000)
		}
	}
	do(to, "CLUSTER", "SETSLOT", slot, "NODE", owner) // first, so that no moment has no owner
	_ = cluster.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		do(c, "CLUSTER", "SETSLOT", slot, "NODE", owner)
		return nil
	})
}
