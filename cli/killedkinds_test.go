//go:build unix

package cli

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
)

// killable is a kind of lock on servers of its own; servers are all that its programs are connected to, with
// Sentinels. Of each of them a program that watches has so many connections at most.
type killable struct {
	kind, target string
	lock         string
	masters      []*servertest.Redis
	servers      []string
	most         int
}

func killables(t *testing.T) map[string]killable {
	addrs := func(servers ...*servertest.Redis) (list []string) {
		for _, s := range servers {
			list = append(list, s.Addr)
		}
		return list
	}
	one, three, nodes := servertest.StartRedis(t), []*servertest.Redis{}, servertest.StartRedisCluster(t, 3)
	for range 3 {
		three = append(three, servertest.StartRedis(t))
	}
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	return map[string]killable{
		"fair":     {"fair", "redis://" + one.Addr, "redis:lock:a", []*servertest.Redis{one}, addrs(one), 3},
		"redlock":  {"redlock", "redis://" + strings.Join(addrs(three...), ","), "redis:lock:a", three, addrs(three...), 3},
		"sentinel": {"mutex", "redis+sentinel://" + sentinel + "/" + servertest.SentinelMaster, "redis:lock:a", []*servertest.Redis{master}, append(addrs(master, replica), sentinel), 3},
		"cluster":  {"mutex", "redis+cluster://" + strings.Join(addrs(nodes...), ","), "redis:lock:a", nodes, addrs(nodes...), 6},
	}
}

// Of programs that hold, wait and watch, and are killed, nothing is left but keys that end by themselves: no
// connection, no client that is told of changes, no key beside the lock without an end. Each that watches has
// one connection to every master that tells of changes, and two to ask; it asks for a Cluster's keys over
// more.
func TestTheKilledLeaveNothingOfAnyKind(t *testing.T) {
	t.Parallel()
	for name, k := range killables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running []*exec.Cmd
			begin := func(says string, args ...string) {
				t.Helper()
				cmd, lines := started(t, args...)
				awaitLine(t, lines, says)
				running = append(running, cmd)
			}
			begin("holding", "acquire", k.lock, k.target, "--kind", k.kind, "--ttl", "10s")
			begin("waiting", "acquire", k.lock, k.target, "--kind", k.kind, "--ttl", "10s")
			held := connectedTo(t, k.servers)
			const watching = 5
			for range watching {
				begin("watching", "watch", k.target)
			}
			awaitConnected(t, k.servers, "those that watch", func(c connected) bool {
				all := c.less(held)
				return all.tracked == watching*len(k.masters) && all.clients <= watching*k.most*len(k.servers)
			})
			for _, cmd := range running {
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			everyKeyEnds(t, k)
			awaitConnected(t, k.servers, "nobody", func(c connected) bool { return c == connected{} })
			for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
				left := everyKeyEnds(t, k)
				if len(left) == 0 {
					return
				}
				if time.Now().After(limit) {
					t.Fatalf("left behind: %v", left)
				}
			}
		})
	}
}

// everyKeyEnds returns the keys that are there, but for the newest tokens and what is kept of a fair queue,
// which have a day and a minute.
func everyKeyEnds(t *testing.T, k killable) (left []string) {
	t.Helper()
	for _, m := range k.masters {
		c := redis.NewClient(&redis.Options{Addr: m.Addr})
		defer c.Close()
		keys, err := c.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			most, ofItself := 10*time.Second, false
			for begins, longest := range map[string]time.Duration{"lockscope:fence:": 24 * time.Hour, "lockscope:queue:": time.Minute, "lockscope:alive:": time.Minute} {
				if strings.HasPrefix(key, begins) {
					most, ofItself = longest, true
				}
			}
			ends := c.PTTL(t.Context(), key).Val()
			if ends == -1 || ends > most { // -2: it is gone by now
				t.Errorf("%s ends in %v", key, ends)
			}
			if !ofItself {
				left = append(left, key)
			}
		}
	}
	return left
}

// connected counts the clients of servers without the links between them, and those that are told of changes.
type connected struct{ clients, tracked int }

func (c connected) less(d connected) connected {
	return connected{c.clients - d.clients, c.tracked - d.tracked}
}

func connectedTo(t *testing.T, addrs []string) (all connected) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, addr := range addrs {
		c := redis.NewClient(&redis.Options{Addr: addr})
		defer c.Close()
		list, err := c.ClientList(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(list) {
			fields := make(map[string]string)
			for _, word := range strings.Fields(line) {
				name, value, _ := strings.Cut(word, "=")
				fields[name] = value
			}
			if strings.HasPrefix(fields["name"], "sentinel-") || strings.ContainsAny(fields["flags"], "SM") || fields["cmd"] == "client|list" {
				continue
			}
			all.clients++
			if strings.Contains(fields["flags"], "t") {
				all.tracked++
			}
		}
	}
	return all
}

// awaitConnected polls, as servers do not tell who leaves.
func awaitConnected(t *testing.T, addrs []string, what string, ok func(connected) bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		c := connectedTo(t, addrs)
		if ok(c) {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s: %+v", what, c)
		}
	}
}

// Of those that hold and wait for ZooKeeper's other kinds, and are killed, no znode and no watch is left
// after the session's timeout.
func TestTheKilledLeaveNothingInZooKeeper(t *testing.T) {
	t.Parallel()
	server, master := servertest.StartZooKeeper(t), servertest.StartRedis(t)
	target := "zk://" + server.Addr
	var running []*exec.Cmd
	for _, kind := range []string{"read", "write", "semaphore=1"} {
		path := "zk:/" + strings.TrimSuffix(kind, "=1")
		for _, says := range []string{"holding", "waiting"} {
			second := kind
			if kind == "read" && says == "waiting" {
				second = "write" // two readers hold together
			}
			cmd, lines := started(t, "acquire", path, target, "--kind", second)
			awaitLine(t, lines, says)
			running = append(running, cmd)
		}
	}
	if b := burdenOf(t, server, master); b.nodes < 6 || b.watches < 3 {
		t.Errorf("%+v", b)
	}
	for _, cmd := range running {
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	awaitBurden(t, server, master, "nothing", func(b burden) bool { return b == burden{} })
}
