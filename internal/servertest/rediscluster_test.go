package servertest

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestStartRedisClusterServesEverySlot(t *testing.T) {
	masters := StartRedisCluster(t, 3)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{masters[0].Addr}})
	defer c.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := c.Set(context.Background(), key, "x", 0).Err(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestStartRedisSentinelFailsOver(t *testing.T) {
	addr, master, replica := StartRedisSentinel(t)
	c := redis.NewSentinelClient(&redis.Options{Addr: addr})
	defer c.Close()
	at := func() string {
		got, err := c.GetMasterAddrByName(context.Background(), SentinelMaster).Result()
		if err != nil {
			t.Fatal(err)
		}
		return got[0] + ":" + got[1]
	}
	if got := at(); got != master.Addr {
		t.Errorf("the master is %s, want %s", got, master.Addr)
	}
	master.Kill(t)
	replica.await(t, "the replica is the master", func() bool { return at() == replica.Addr })
}

func TestARestartedSentinelRemembers(t *testing.T) {
	sentinels, servers := StartRedisSentinels(t, 3)
	s := sentinels[1]
	s.Kill(t)
	s.Restart(t)
	c := redis.NewSentinelClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	if err := c.Failover(t.Context(), SentinelMaster).Err(); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the replica is the master", func() bool {
		got, err := c.GetMasterAddrByName(t.Context(), SentinelMaster).Result()
		return err == nil && got[0]+":"+got[1] == servers[1].Addr
	})
}

func TestReplicasOfAClusterTakeOver(t *testing.T) {
	masters, replicas := StartRedisClusterWithReplicas(t, 3)
	c := redis.NewClient(&redis.Options{Addr: replicas[0].Addr})
	defer c.Close()
	if err := c.ClusterFailover(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	masters[0].await(t, "the replica is the master", func() bool {
		return strings.Contains(masters[0].say(t, "INFO", "replication"), "role:slave")
	})
}
