package redissource_test

import (
	"context"
	"fmt"
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
	must.True(t, grants == 1, "granted", grants, "times", w.seen)
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
