package redissource_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// startFake starts an embedded server of which some commands are answered by the test.
func startFake(t *testing.T, answer func(c *server.Peer, command string) bool) *servertest.Redis {
	t.Helper()
	m := servertest.StartEmbeddedRedis(t)
	answers(m, answer)
	return m
}

func answers(m *servertest.Redis, answer func(c *server.Peer, command string) bool) {
	m.Mini.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		return answer(c, strings.ToLower(strings.Join(append([]string{cmd}, args...), " ")))
	})
}

// A key is read when its master pushes it, and all keys after a flush. A master that pushes more
// than the budget allows is polled instead.
func TestTrackedKeysAreReadWhenPushed(t *testing.T) {
	t.Parallel()
	var tracking atomic.Pointer[server.Peer]
	m := startFake(t, func(c *server.Peer, command string) bool {
		tracks := strings.HasPrefix(command, "client tracking on bcast prefix ")
		if tracks {
			tracking.Store(c)
			c.WriteOK()
		}
		return tracks
	})
	push := func(keys ...string) { // none: a flush
		c := tracking.Load()
		c.Block(func(w *server.Writer) {
			w.WritePushLen(2)
			w.WriteBulk("invalidate")
			if keys == nil {
				w.WriteNull()
			} else {
				w.WriteStrings(keys)
			}
			w.Flush()
		})
	}
	cfg := onlyPushes(m)
	cfg.Timeout, cfg.Budget.Pushes = 5*time.Second, 10
	v := watchPushed(t, cfg)
	set(t, m, "lock:a", "x", time.Minute)
	push("lock:a", "other")
	v.Await("pushed", heldBy(v, "lock:a", "x"))
	v.Await("heartbeats in the cost", func() bool {
		cost, s := v.Backend.Cost, v.Backend.Servers[0]
		return cost.Heartbeats > 0 && s.Heartbeats == cost.Heartbeats && s.Requests == cost.Requests && cost.Requests > 0
	})
	m.Mini.FlushAll()
	push()
	v.Await("flushed", func() bool {
		l := v.Locks["lock:a"]
		return l.State == inspect.StateFree && l.Masters[0].Unsure
	})
	push(make([]string, 10)...) // fewer than the burst of two seconds
	set(t, m, "lock:b", "x", 0)
	push("lock:b")
	v.Await("within the rate", heldBy(v, "lock:b", "x"))
	push(make([]string, 40)...) // more than the burst
	push("lock:b")
	v.Await("too many pushes", func() bool {
		why := unseenOf(v.Backend.Unseen, inspect.AspectChanges, m.Addr)
		return v.Backend.Mode == inspect.ModePoll && strings.Contains(why, "more than 10 keys")
	})
}

// The nodes of a cluster change. Its keys are then read from the new nodes.
func TestNewClusterNodesAreRead(t *testing.T) {
	t.Parallel()
	second := servertest.StartEmbeddedRedis(t)
	set(t, second, "lock:b", "second", 0) // of slot 10224
	var first *servertest.Redis
	var joined atomic.Bool
	node := func(c *server.Peer, from, to int, addr string) {
		host, port, _ := net.SplitHostPort(addr)
		c.WriteLen(3)
		c.WriteInt(from)
		c.WriteInt(to)
		c.WriteLen(2)
		c.WriteBulk(host)
		c.WriteInt(must.Have(net.LookupPort("tcp", port))(t))
	}
	answer := func(c *server.Peer, command string) bool {
		if command != "cluster slots" || !joined.Load() {
			return false
		}
		c.WriteLen(2)
		node(c, 0, 8191, first.Addr)
		node(c, 8192, 16383, second.Addr)
		return true
	}
	first = startFake(t, func(c *server.Peer, command string) bool {
		moved := joined.Load() && strings.Contains(command, " lock:b")
		if moved {
			c.WriteError("MOVED 10224 " + second.Addr)
		}
		return moved || answer(c, command)
	})
	answers(second, answer)
	set(t, first, "lock:a", "first", 0) // of slot 6035
	cfg := oneMaster(redis.UniversalOptions{Addrs: []string{first.Addr}, IsClusterMode: true})
	v := watch(t, cfg)
	v.Await("held", heldBy(v, "lock:a", "first"))
	v.Await("one node", func() bool {
		b := v.Backend
		return b.Topology == inspect.Cluster && len(b.Servers) == 1 && b.State == inspect.Connected
	})
	joined.Store(true)
	v.Await("the second node's key", heldBy(v, "lock:b", "second"))
	v.Peek(func() {
		must.Equal(t, v.Locks["lock:b"].Masters[0].Addr, second.Addr, "read from")
		must.Equal(t, v.Locks["lock:a"].Masters[0].Addr, first.Addr, "read from")
	})
	v.Await("both nodes", func() bool { return len(v.Backend.Servers) == 2 && v.Backend.FirstPass })
	first.Stop(t)
	second.Stop(t)
	v.Await("down", func() bool { return v.Backend.State == inspect.Down })
	for mode, once := range map[inspect.Mode]bool{inspect.ModeOnce: true, inspect.ModePoll: false} {
		cfg := cfg
		cfg.Once = once
		v := watch(t, cfg)
		var b *inspect.Backend
		v.Await("unreadable", func() bool { b = v.Backend; return b != nil })
		must.Equal(t, b.Mode, mode)
		must.Equal(t, b.FirstPass, once, mode, "first pass")
		if b.State != inspect.Down || b.Kind != inspect.Redis || b.Topology != inspect.Cluster || b.Name != "redis" {
			t.Errorf("%s: %+v", mode, b)
		}
		must.Contain(t, b.Error, "master "+first.Addr)
		must.Equal(t, len(b.Servers), 1, mode, "servers")
		want := inspect.Server{Addr: first.Addr, State: inspect.ServerDown, Cluster: true, Latency: -1, Error: b.Error}
		must.Equal(t, b.Servers[0], want, mode)
	}
}

// The sentinel names another master after the first is gone.
func TestMasterNamedBySentinelIsRead(t *testing.T) {
	t.Parallel()
	first, second := servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t)
	var master atomic.Pointer[string]
	master.Store(&first.Addr)
	sentinel := startFake(t, func(c *server.Peer, command string) bool {
		asked := command == "sentinel get-master-addr-by-name orders"
		if asked {
			host, port, _ := net.SplitHostPort(*master.Load())
			c.WriteStrings([]string{host, port})
		}
		return asked
	})
	set(t, first, "lock:a", "x", 0)
	set(t, second, "lock:a", "y", 0)
	v := watch(t, oneMaster(redis.UniversalOptions{Addrs: []string{sentinel.Addr}, MasterName: "orders"}))
	readFrom := func(m *servertest.Redis) {
		t.Helper()
		v.Peek(func() { must.Equal(t, v.Locks["lock:a"].Masters[0].Addr, m.Addr, "read from") })
	}
	v.Await("held", heldBy(v, "lock:a", "x"))
	readFrom(first)
	v.Await("its address", func() bool {
		return v.Backend.Servers[0].Addr == first.Addr && v.Backend.Topology == inspect.Sentinel
	})
	v.Peek(func() { // a pause of this process also leaves a gap, which has a beginning
		must.True(t, v.Gap == nil || !v.Gap.From.IsZero(), "a gap without a failover", v.Gap)
	})
	master.Store(&second.Addr)
	first.Stop(t)
	v.Await("the second master, and a gap", func() bool {
		replaced := v.Backend.Servers[0].Addr == second.Addr && v.Gap != nil && v.Gap.Until.After(v.Gap.From)
		return replaced && heldBy(v, "lock:a", "y")()
	})
	readFrom(second)
}
