package servertest

import (
	"context"
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
