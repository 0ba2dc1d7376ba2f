package redissource_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func keyOn(t *testing.T, c *redis.ClusterClient, n *servertest.Redis) (key string, slot int64) {
	t.Helper()
	ctx := context.Background()
	for i := range 1000 {
		key := fmt.Sprintf("lock:on:%d", i)
		m := must.Have(c.MasterForKey(ctx, key))(t)
		if m.Options().Addr == n.Addr {
			return key, c.ClusterKeySlot(ctx, key).Val()
		}
	}
	t.Fatal("no key")
	return "", 0
}

func clusterClient(t *testing.T, nodes []*servertest.Redis) *redis.ClusterClient {
	t.Helper()
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr, nodes[len(nodes)-1].Addr}, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestClusterIsReadPerNode(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartRedisCluster(t, 3)
	c, ctx := clusterClient(t, nodes), context.Background()
	for _, n := range nodes {
		must.Succeed(t, n.Client(t).ConfigSet(ctx, "cluster-require-full-coverage", "no").Err())
	}
	for i := range 30 {
		must.Succeed(t, c.Set(ctx, fmt.Sprintf("lock:%d", i), "x", 0).Err())
	}
	cfg := oneMaster(redis.UniversalOptions{Addrs: []string{nodes[0].Addr, nodes[1].Addr}})
	v := watchPushed(t, cfg)
	v.Await("all locks", func() bool { return len(v.Locks) == 30 })
	v.Peek(func() {
		for _, s := range v.Backend.Servers {
			if s.Role != "master" || s.Version == "" || s.RunID == "" || s.State != inspect.ServerUp || !s.Cluster {
				t.Errorf("server %+v", s)
			}
		}
		if len(v.Backend.Servers) != 3 || v.Backend.Topology != inspect.Cluster || len(v.Backend.Unseen) != 0 {
			t.Errorf("%+v", v.Backend)
		}
	})
	dead := nodes[2]
	theirs, _ := keyOn(t, c, dead)
	mine, _ := keyOn(t, c, nodes[0])
	for _, key := range []string{theirs, mine} {
		must.Succeed(t, c.Set(ctx, key, "x", 0).Err())
		v.Await("pushed by its node", holder(v, key, "x"))
	}
	dead.Kill(t)
	v.Await("the dead node's slots unknown, the backend degraded", func() bool {
		return v.Backend.State == inspect.Degraded && strings.Contains(v.Backend.Error, dead.Addr) && state(v, theirs, inspect.StateUnknown)()
	})
	v.Peek(func() {
		if l := v.Locks[mine]; l.State != inspect.StateHeld || l.Masters[0].Addr != nodes[0].Addr {
			t.Errorf("a lock on a live node: %+v", l)
		}
		for key, l := range v.Locks {
			if l.State != inspect.StateHeld && l.State != inspect.StateUnknown {
				t.Errorf("%s is %s", key, l.State)
			}
		}
	})
	pass := once(t, cfg)
	if pass.Backend.State != inspect.Degraded || pass.Locks[mine] == nil || pass.Locks[mine].State != inspect.StateHeld {
		t.Errorf("one pass: %+v, %v", pass.Backend, pass.Describe())
	}
	cfg.Only = theirs
	if l := once(t, cfg).Locks[theirs]; l == nil || l.State != inspect.StateUnknown {
		t.Errorf("a lock on the dead node, requested by name: %+v", l)
	}
}

// A replica has no vote: only its status is requested, and nothing else depends on it.
func TestClusterReplicasReportOnlyStatus(t *testing.T) {
	t.Parallel()
	masters, replicas := servertest.StartRedisClusterWithReplicas(t, 1)
	cfg := oneMaster(redis.UniversalOptions{Addrs: []string{masters[0].Addr}, IsClusterMode: true})
	replica := func(v *sourcetest.View) (s inspect.Server) {
		if v.Backend != nil {
			for _, s = range v.Backend.Servers {
				if s.Addr == replicas[0].Addr {
					return s
				}
			}
		}
		return inspect.Server{}
	}
	v := watch(t, cfg)
	v.Await("the replica's status", func() bool {
		s := replica(v)
		return s.State == inspect.ServerUp && s.Role == "replica" && s.Version != "" && s.RunID != "" && s.Cluster
	})
	replicas[0].Kill(t)
	v.Await("the replica down", func() bool { return replica(v).State == inspect.ServerDown && replica(v).Error != "" })
	pass := once(t, cfg)
	if s := replica(pass); s.State != inspect.ServerDown || pass.Backend.State != inspect.Connected {
		t.Errorf("one pass: %+v, %+v", s, pass.Backend)
	}
}

func TestASlotThatMigratesIsFollowed(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartRedisCluster(t, 2)
	c, ctx := clusterClient(t, nodes), context.Background()
	key, slot := keyOn(t, c, nodes[0])
	must.Succeed(t, c.Set(ctx, key, "x", 0).Err())
	cfg := oneMaster(redis.UniversalOptions{Addrs: []string{nodes[0].Addr}, IsClusterMode: true})
	v := watch(t, cfg)
	v.Await("held", holder(v, key, "x"))
	m := migrate(t, slot, nodes[0], nodes[1])
	host, port, _ := net.SplitHostPort(nodes[1].Addr)
	run(t, m.from, fmt.Sprintf("MIGRATE %s %s %s 0 60000", host, port, key))
	// The old node answers ASK.
	if l := once(t, cfg).Locks[key]; l == nil || l.State != inspect.StateHeld {
		t.Errorf("while its slot migrates: %+v", l)
	}
	v.Peek(func() {
		if v.Backend.State != inspect.Connected || v.Locks[key].State != inspect.StateHeld {
			t.Errorf("%+v, %v", v.Backend, v.Describe())
		}
	})
	m.finish()
	must.Succeed(t, c.Set(ctx, key, "y", time.Hour).Err())
	v.Await("held on the new node", func() bool { return holder(v, key, "y")() && v.Locks[key].Masters[0].Addr == nodes[1].Addr })
}
