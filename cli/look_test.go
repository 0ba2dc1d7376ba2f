package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// await runs a command line again and again until its output is as wanted.
func await(t *testing.T, what string, ok func(outcome) bool, args ...string) outcome {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		got := run(t, args...)
		if ok(got) {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come: %+v", what, got)
		}
	}
}

func TestKazooProcessesStandInOrder(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		target := fmt.Sprintf("zk://%s%s?admin=%s", server.Addr, root, server.Admin)
		var peers []*servertest.Peer
		for i := range 4 {
			peers = append(peers, servertest.StartKazoo(t, server.Addr, root+"/orders", fmt.Sprintf("worker-%d", i+1)))
			if i == 0 {
				peers[0].Expect(t, "acquired")
			}
			await(t, "contender", func(o outcome) bool {
				return o.code == 0 && strings.Count(o.stdout, `"sequence"`) == i+1
			}, "ls", "-o", "json", target)
		}
		l := parse(t, run(t, "ls", "-o", "json", target).stdout).lock(t, "zk:"+root+"/orders")
		if l.Recipe != "kazoo" || l.Confidence != "certain" || l.Kind != "mutex" || l.State != "contended" || len(l.Holders) != 1 || len(l.Waiters) != 3 {
			t.Fatalf("lock %+v", l)
		}
		queue := append(l.Holders, l.Waiters...)
		clients := map[string]bool{}
		for i, c := range queue {
			if c.Owner.Label != fmt.Sprintf("worker-%d", i+1) || *c.Sequence != i || c.Blocked != 3-i || c.Age == nil {
				t.Errorf("contender %d: %+v", i, c)
			}
			if !strings.HasPrefix(c.Owner.Client, "127.0.0.1:") || c.Owner.Host != "127.0.0.1" || !strings.HasPrefix(c.Owner.Session, "0x1") {
				t.Errorf("contender %d: owner %+v", i, c.Owner)
			}
			clients[c.Owner.Client] = true
			if i == 0 {
				continue
			}
			if c.Watches == nil || *c.Watches != queue[i-1].Name || c.Confirmed == nil || !*c.Confirmed {
				t.Errorf("contender %d watches %v, confirmed %v; want %s", i, c.Watches, c.Confirmed, queue[i-1].Name)
			}
		}
		if len(clients) != 4 {
			t.Errorf("four processes have %d addresses", len(clients))
		}
		tree := run(t, "show", l.ID, target)
		if tree.code != 0 || !strings.Contains(tree.stdout, "worker-1 (127.0.0.1:") || strings.Contains(tree.stdout, "\x1b") {
			t.Errorf("show: %+v", tree)
		}
		peers[0].Expire(t)
		await(t, "handover", func(o outcome) bool { return strings.Contains(o.stdout, "worker-2 (127.0.0.1:") }, "show", l.ID, target)
		peers[1].Expect(t, "acquired")
	})
}

func TestShowNamesTheCommandThatLooksAtTheHolder(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		servertest.StartKazoo(t, server.Addr, root, "worker-1").Expect(t, "acquired")
		file := filepath.Join(t.TempDir(), "config.yaml")
		must.Succeed(t, os.WriteFile(file, []byte("owner_command: ssh {host} grep {label} /proc/*/cmdline\n"), 0o600))
		target := "zk://" + server.Addr + root + "?admin=" + server.Admin
		if got := run(t, "show", "zk:"+root, target, "--config", file); !strings.Contains(got.stdout, "\nlook: ssh 127.0.0.1 grep worker-1 /proc/*/cmdline\n") {
			t.Errorf("show: %+v", got)
		}
		if got := run(t, "show", "zk:"+root, target); got.code != 0 || strings.Contains(got.stdout, "look:") {
			t.Errorf("without a template: %+v", got)
		}
	})
}

func TestRedlockWithAMasterStopped(t *testing.T) {
	t.Parallel()
	var servers []*servertest.Redis
	var addrs []string
	for range 5 {
		s := servertest.StartRedis(t)
		c := redis.NewClient(&redis.Options{Addr: s.Addr})
		must.Succeed(t, c.Set(t.Context(), "lock:a", "Y2NjY2NjY2NjY2NjY2NjYw==", time.Minute).Err())
		c.Close()
		servers, addrs = append(servers, s), append(addrs, s.Addr)
	}
	servers[4].Stop(t)
	got := run(t, "ls", "-o", "json", "redis://"+strings.Join(addrs, ","))
	s := parse(t, got.stdout)
	l := s.lock(t, "redis:lock:a")
	if got.code != 3 || s.Backends[0].State != "degraded" || l.State != "held" || *l.Margin != 1 || l.Masters[4].State != "down" || l.Masters[4].TTL != nil {
		t.Errorf("code %d, %+v", got.code, s)
	}
	if !strings.Contains(got.stderr, addrs[4]) {
		t.Errorf("the master that did not answer is not named: %s", got.stderr)
	}
}

func TestHostileBytesNeverReachTheTerminal(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, servers []*servertest.Redis) {
		c := servers[0].Client(t)
		key := servertest.UniqueName(t) + "lock\x1b]52;c;aGk=\a\u202e\xff\r\n"
		must.Succeed(t, c.Set(t.Context(), key, "\x1b[2J\u009b31m"+strings.Repeat("x", 5000), time.Minute).Err())
		target := "redis://" + servers[0].Addr
		id := ""
		for _, l := range parse(t, run(t, "ls", "-o", "json", target).stdout).Locks {
			if strings.Contains(l.ID, "aGk=") {
				id = l.ID
			}
		}
		for _, args := range [][]string{{"ls"}, {"ls", "-o", "wide"}, {"ls", "-o", "json"}, {"show", id}, {"show", id, "-o", "json"}} {
			got := run(t, append(args, target)...)
			if got.code != 0 || strings.ContainsAny(strings.ReplaceAll(got.stdout, "\n", ""), "\x1b\a\r\u009b\u202e") || !utf8.ValidString(got.stdout) || got.stdout == "" {
				t.Errorf("%v: %+v", args, got)
			}
		}
	})
}

// Every scene shows what its caption says.
func TestDemoHeadless(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	var missing []string
	defer func() {
		if t.Failed() {
			t.Logf("not as its caption says: %q", missing)
		}
	}()
	untilLong(t, 4*time.Second, "what the captions say", func(span string) bool {
		got := run(t, "demo", "--headless", "--for", span, "-o", "json")
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		s := parse(t, got.stdout)
		if i := slices.IndexFunc(s.Locks, func(l lock) bool { return l.ID == "zk:/locks/printers" }); i >= 0 && len(s.Locks[i].Holders) > 3 {
			t.Errorf("%d hold three permits", len(s.Locks[i].Holders))
		}
		missing = notAsCaptioned(s)
		return len(missing) == 0
	})
}

// notAsCaptioned lists what a snapshot of all scenes does not have.
func notAsCaptioned(s snapshot) (missing []string) {
	if len(s.Backends) != 2 {
		missing = append(missing, fmt.Sprintf("%d backends", len(s.Backends)))
	}
	for _, want := range []struct{ id, kind, recipe, rule string }{
		{"zk:/locks/orders", "mutex", "curator", ""},
		{"zk:/locks/reports", "mutex", "go-zookeeper", ""},
		{"zk:/locks/catalog", "rw", "kazoo", ""},
		{"zk:/locks/printers", "semaphore", "kazoo", ""},
		{"zk:/locks/payments", "mutex", "curator", ""},
		{"zk:/locks/invoices", "mutex", "kazoo", "persistent-contender"},
		{"zk:/locks/accounts", "mutex", "curator", "deadlock"},
		{"zk:/locks/ledger", "mutex", "curator", "deadlock"},
		{"redis:lock:cart:42", "redlock", "lockscope", ""},
		{"redis:lock:seats", "redlock", "redsync", "split-quorum"},
		{"redis:lock:nightly", "redlock", "redsync", "no-ttl"},
	} {
		if !slices.ContainsFunc(s.Locks, func(l lock) bool {
			return l.ID == want.id && l.Kind == want.kind && l.Recipe == want.recipe && (want.rule == "" || l.found(want.rule))
		}) {
			missing = append(missing, fmt.Sprint(want))
		}
	}
	return missing
}

func (l *lock) found(rule string) bool {
	return slices.ContainsFunc(l.Findings, func(f reportedFinding) bool { return f.Rule == rule })
}

// A waiter that watches nothing is distinguished from one that was not looked at.
func TestMissingWatchIsFalseNotNull(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		conn := servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
		must.Have(conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)))(t)
		for range 2 {
			must.Have(conn.Create(path+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)))(t)
		}
		target := fmt.Sprintf("zk://%s%s?admin=%s", server.Addr, path, server.Admin)
		l := parse(t, run(t, "ls", "-o", "json", target).stdout).lock(t, "zk:"+path)
		if len(l.Waiters) != 1 || l.Waiters[0].Confirmed == nil || *l.Waiters[0].Confirmed {
			t.Errorf("waiter %+v, want watch_confirmed false", l.Waiters)
		}
		if got := run(t, "show", "zk:"+path, target); !strings.Contains(got.stdout, "⇥✖ not 0") {
			t.Errorf("show: %+v", got)
		}
	})
}
