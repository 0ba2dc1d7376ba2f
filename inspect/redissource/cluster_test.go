package redissource_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// keyOn returns a key in a slot of this node.
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
		v.Await("pushed by its node", heldBy(v, key, "x"))
	}
	dead.Kill(t)
	v.Await("the dead node's slots unknown, the backend degraded", func() bool {
		return v.Backend.State == inspect.Degraded && strings.Contains(v.Backend.Error, dead.Addr) &&
			inState(v, theirs, inspect.StateUnknown)()
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
	v.Await("held", heldBy(v, key, "x"))
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
	v.Await("held on the new node", func() bool {
		return heldBy(v, key, "y")() && v.Locks[key].Masters[0].Addr == nodes[1].Addr
	})
}

// movingSlot is a cluster slot in migration: each node has some of its keys.
type movingSlot struct {
	*testing.T
	slot     int64
	from, to *redis.Client
}

// migrate begins to move a slot.
func migrate(t *testing.T, slot int64, from, to *servertest.Redis) *movingSlot {
	t.Helper()
	m := &movingSlot{T: t, slot: slot, from: from.Client(t), to: to.Client(t)}
	run(t, m.to, fmt.Sprintf("CLUSTER SETSLOT %d IMPORTING %s", slot, m.from.ClusterMyID(t.Context()).Val()))
	run(t, m.from, fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING %s", slot, m.to.ClusterMyID(t.Context()).Val()))
	return m
}

// finish makes the new node the owner of the slot.
func (m *movingSlot) finish() {
	m.Helper()
	owner := m.to.ClusterMyID(m.Context()).Val()
	for _, c := range []*redis.Client{m.to, m.from} {
		run(m.T, c, fmt.Sprintf("CLUSTER SETSLOT %d NODE %s", m.slot, owner))
	}
}

// there runs a command on a key that is already on the new node.
func (m *movingSlot) there(words ...any) {
	m.Helper()
	_, err := m.to.Pipelined(m.Context(), func(p redis.Pipeliner) error {
		p.Do(m.Context(), "asking")
		p.Do(m.Context(), words...)
		return nil
	})
	must.Succeed(m, err)
}

// The lock has moved to the new node but its queue has not, so the new holder also shows as a waiter.
// It must count as the holder only, and must not acquire again when the queue has moved too.
func TestHolderNeverWaitsDuringSlotMigration(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartRedisCluster(t, 2)
	c, ctx := clusterClient(t, nodes), context.Background()
	key, slot := keyOn(t, c, nodes[0])
	queue := recipe.LockscopeKey(recipe.WaitPrefix, key)
	before, next := recipe.LockscopeToken([16]byte{1}, "before"), recipe.LockscopeToken([16]byte{2}, "next")
	must.Succeed(t, c.Set(ctx, key, before, time.Minute).Err())
	must.Succeed(t, c.ZAdd(ctx, queue, redis.Z{Score: float64(time.Now().UnixMicro()), Member: next}).Err())
	w := observe(t, oneMaster(redis.UniversalOptions{Addrs: []string{nodes[0].Addr}, IsClusterMode: true}), key)
	w.await("a waiter", func(l *inspect.Lock) bool { return len(l.Waiters) == 1 && l.State == inspect.StateContended })
	m := migrate(t, slot, nodes[0], nodes[1])
	run(t, m.from, "DEL "+key)
	m.there("set", key, next, "px", 60_000)
	w.await("granted", func(l *inspect.Lock) bool { return len(l.Holders) == 1 && l.Holders[0].Name == inspect.Untrusted(next) })
	w.await("no waiters", func(l *inspect.Lock) bool {
		return l.State == inspect.StateHeld && len(l.Waiters) == 0 && l.Holders[0].BlockedBelow == 0
	})
	run(t, m.from, "ZREM "+queue+" "+next)
	m.there("pexpire", key, 3600_000)
	w.await("renewed", func(l *inspect.Lock) bool {
		return len(l.Holders) == 1 && time.Until(l.Holders[0].ExpiresAt) > 30*time.Minute
	})
	grants := 0
	for _, e := range w.seen {
		if (e.Kind == inspect.EventAcquired || e.Kind == inspect.EventHandover) && e.Contender.Name == inspect.Untrusted(next) {
			grants++
		}
	}
	must.Equal(t, grants, 1, "grants", w.seen)
}

// watched is a lock watched by an Observer, with its events.
type watched struct {
	*testing.T
	id   inspect.ID
	sub  *inspect.Subscription
	seen []inspect.Event
	last *inspect.Lock
}

func observe(t *testing.T, cfg redissource.Config, key string) *watched {
	t.Helper()
	o := inspect.NewObserver(time.Now, redissource.New(cfg))
	w := &watched{T: t, id: inspect.ID{Backend: cfg.Backend, Path: key}, sub: o.Subscribe()}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = o.Run(ctx) })
	t.Cleanup(func() { stop(); done.Wait(); w.sub.Close() })
	return w
}

// await reads snapshots until one has the lock in the expected state.
func (w *watched) await(what string, ok func(*inspect.Lock) bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), sourcetest.Limit)
	defer cancel()
	for w.last == nil || !ok(w.last) {
		s, err := w.sub.Next(ctx)
		if err != nil {
			w.Fatalf("%s: %v; last: %+v", what, err, w.last)
		}
		for _, e := range s.Events {
			if e.Lock == w.id {
				w.seen = append(w.seen, e)
			}
		}
		w.last = s.Lock(w.id)
	}
}
