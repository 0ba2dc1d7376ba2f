package soak

import (
	"context"
	"fmt"
	"net"
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
	if !n.within(func() bool { return n.w.masterAddr() != old && n.replicates() }) {
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
	conns := map[*servertest.Redis]*redis.Client{}
	ids := map[*servertest.Redis]string{}
	for _, m := range masters {
		conns[m] = redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2})
		defer conns[m].Close()
		ids[m] = conns[m].Do(ctx, "CLUSTER", "MYID").Val().(string)
	}
	slot := conns[masters[0]].ClusterKeySlot(ctx, key).Val()
	var from *servertest.Redis
	for _, m := range masters {
		if err := conns[m].Get(ctx, key).Err(); err == nil || err == redis.Nil {
			from = m
		}
	}
	if from == nil {
		return
	}
	to := masters[n.random.IntN(3)]
	for to == from {
		to = masters[n.random.IntN(3)]
	}
	do := func(m *servertest.Redis, args ...any) {
		if err := conns[m].Do(ctx, args...).Err(); err != nil {
			n.t.Logf("move slot: %v: %v", args, err)
		}
	}
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from])
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to])
	n.briefly()
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		keys, err := conns[from].ClusterGetKeysInSlot(ctx, int(slot), 100).Result()
		if err != nil || len(keys) == 0 {
			break
		}
		for _, k := range keys {
			do(from, "MIGRATE", host, port, k, 0, 1000)
		}
	}
	for _, m := range []*servertest.Redis{to, from} {
		do(m, "CLUSTER", "SETSLOT", slot, "NODE", ids[to])
	}
	for _, m := range masters {
		if m != to && m != from {
			do(m, "CLUSTER", "SETSLOT", slot, "NODE", ids[to])
		}
	}
}
