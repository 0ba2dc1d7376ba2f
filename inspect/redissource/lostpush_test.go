package redissource_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// SWAPDB pushes no keys. A missing key reveals it, and all keys are read again.
func TestSwappedDatabasesAreNoticed(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := m.Client(t)
	run(t, c, `SET lock:both second
		COPY lock:both lock:both DB 1
		COPY lock:both lock:came DB 1
		SET lock:both first
		SET lock:gone x`)
	cfg := onlyPushes(m)
	cfg.Budget.ScanEvery = 100 * time.Millisecond
	v := watchPushed(t, cfg)
	v.Await("the original keys", func() bool {
		return heldBy(v, "lock:both", "first")() && inState(v, "lock:gone", inspect.StateHeld)()
	})
	set(t, m, "lock:marker", "x", 0) // is read after everything else
	v.Await("all other reads done", inState(v, "lock:marker", inspect.StateHeld))
	run(t, c, "SWAPDB 0 1")
	v.Await("the keys of the other database", func() bool {
		return heldBy(v, "lock:both", "second")() && inState(v, "lock:gone", inspect.StateFree)()
	})
	v.Await("a key that only the other database had", inState(v, "lock:came", inspect.StateHeld))
	v.Peek(func() {
		must.True(t, v.Locks["lock:gone"].Masters[0].Unsure, "the end of lock:gone is not marked as unsure")
		if v.Locks["lock:both"].UnseenSince.IsZero() {
			t.Error("the change of lock:both has no bound")
		}
	})
}

// A network can drop a connection silently while the server answers on others. The source
// reconnects and finds the missed changes.
func TestSilentlyLostTrackingConnectionIsReestablished(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	var silent atomic.Bool
	var tracking atomic.Value // the connection with pushes, before it is silent
	proxy := servertest.StartRelay(t, m.Addr, func(_ int, said []byte, client io.Writer) error {
		switch {
		case silent.Load() && tracking.Load() == client:
			return nil
		case !silent.Load() && bytes.Contains(said, []byte("invalidate")):
			tracking.Store(client)
		}
		_, err := client.Write(said)
		return err
	})
	cfg := onlyPushes(&servertest.Redis{Addr: proxy})
	cfg.Timeout = 5 * time.Second // after which silence counts as a lost connection
	v := watchPushed(t, cfg)
	set(t, m, "lock:a", "0", 0)
	v.Await("pushed", heldBy(v, "lock:a", "0"))
	silent.Store(true)
	set(t, m, "lock:a", "1", 0)
	v.Await("the missed change", heldBy(v, "lock:a", "1"))
	set(t, m, "lock:a", "2", 0)
	v.Await("pushed again", heldBy(v, "lock:a", "2"))
}

// How a key ended is unknown on a master with limited memory, which may have evicted it.
func TestEndOnEvictingMasterIsUncertain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules  string
		before string
		end    string
		sure   bool
	}{
		"evicted":                 {end: "CONFIG SET maxmemory 1"},
		"deleted":                 {end: "DEL lock:a"},
		"deleted, polled":         {rules: "-client", end: "DEL lock:a"},
		"deleted, without expiry": {before: "SET lock:a y", end: "DEL lock:a", sure: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := servertest.StartRedis(t, "--maxmemory-policy", "volatile-ttl", "--maxmemory", "100mb")
			set(t, m, "lock:a", "x", time.Hour)
			cfg := onlyPushes(m)
			cfg.Masters = viewed(t, m, tt.rules).Masters
			cfg.Tick = 20 * time.Millisecond // for the case that is polled
			v := watch(t, cfg)
			v.Await("the memory limit", func() bool {
				return v.Backend != nil && len(v.Backend.Servers) == 1 && v.Backend.Servers[0].Evicts() &&
					(v.Backend.Mode == inspect.ModePush) == (tt.rules == "")
			})
			v.Await("held", heldBy(v, "lock:a", "x"))
			if tt.before != "" {
				run(t, m.Client(t), tt.before)
				v.Await("held again", heldBy(v, "lock:a", "y"))
			}
			run(t, m.Client(t), tt.end)
			v.Await("gone", inState(v, "lock:a", inspect.StateFree))
			v.Peek(func() { must.Equal(t, v.Locks["lock:a"].Masters[0].Unsure, !tt.sure, "unsure") })
		})
	}
}

// A server pushes a flush without the names of the keys.
func TestAFlushIsReported(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	v := watchPushed(t, onlyPushes(m))
	set(t, m, "lock:flushed", "x", 0)
	set(t, m, "lock:deleted", "x", 0)
	v.Await("held", func() bool {
		return inState(v, "lock:flushed", inspect.StateHeld)() && inState(v, "lock:deleted", inspect.StateHeld)()
	})
	del(t, m, "lock:deleted")
	v.Await("deleted", inState(v, "lock:deleted", inspect.StateFree))
	must.Succeed(t, m.Client(t).FlushAll(context.Background()).Err())
	v.Await("flushed", inState(v, "lock:flushed", inspect.StateFree))
	if !v.Locks["lock:flushed"].Masters[0].Unsure || v.Locks["lock:deleted"].Masters[0].Unsure {
		t.Errorf("%v", v.Describe())
	}
}

func TestLostTrackingConnectionIsReestablished(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	cfg := onlyPushes(m)
	cfg.Budget.ScanEvery = 100 * time.Millisecond
	v := watchPushed(t, cfg)
	c, ctx := m.Client(t), context.Background()
	for i := range 3 {
		_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error { // no connection is left when the keys are set
			p.Do(ctx, "client", "kill", "type", "normal")
			p.Set(ctx, "lock:a", i, 0)
			p.Set(ctx, fmt.Sprintf("lock:new:%d", i), i, 0)
			return nil
		})
		must.Succeed(t, err)
		v.Await("the missed change", heldBy(v, "lock:a", strconv.Itoa(i)))
		v.Await("the missed key", inState(v, fmt.Sprintf("lock:new:%d", i), inspect.StateHeld))
		awaitPush(v)
	}
}
