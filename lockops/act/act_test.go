package act

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

func openAudit(t *testing.T) (*Audit, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	a := must.Have(OpenAudit(time.Now, path, "test", "profile"))(t)
	t.Cleanup(func() { a.Close() })
	return a, path
}

// onOneMaster starts a separate master and returns it with a client and a Releaser of its locks.
func onOneMaster(t *testing.T) (*servertest.Redis, *redis.Client, *Redis) {
	t.Helper()
	server := servertest.StartRedis(t)
	client := server.Client(t)
	return server, client, onMaster(t, client, server.Addr)
}

func onMaster(t *testing.T, client redis.UniversalClient, addr string) *Redis {
	t.Helper()
	return onMasters(t, []redis.UniversalClient{client}, []string{addr})
}

// onMasters returns a Releaser for these masters.
func onMasters(t *testing.T, clients []redis.UniversalClient, addrs []string) *Redis {
	t.Helper()
	audit, _ := openAudit(t)
	return NewRedis(clients, Target{Name: "redis", Servers: addrs}, 30*time.Second, audit)
}

// onEnsemble returns a Releaser for the ensemble behind a connection.
func onEnsemble(t *testing.T, conn ZKConn, addr string) *ZooKeeper {
	t.Helper()
	audit, _ := openAudit(t)
	releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{addr}}, audit)
	t.Cleanup(releaser.Close)
	return releaser
}

// confirmed previews a request that must not be refused.
func confirmed(t *testing.T, r Releaser, request Request) Preview {
	t.Helper()
	p, err := r.Preview(t.Context(), request)
	if err != nil || p.Refused != "" {
		t.Fatalf("preview of %s: %+v, %v", request.Owner, p, err)
	}
	return p
}

func auditLines(t *testing.T, path string) []map[string]any {
	t.Helper()
	f := must.Have(os.Open(path))(t)
	defer f.Close()
	var lines []map[string]any
	for s := bufio.NewScanner(f); s.Scan(); {
		var l map[string]any
		must.Succeed(t, json.Unmarshal(s.Bytes(), &l))
		lines = append(lines, l)
	}
	return lines
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func connectZooKeeper(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	conn, end := connectUntil(t, addr)
	t.Cleanup(end)
	return conn
}

// connectUntil is connectZooKeeper for a test that makes many connections. Each has buffers of 1.5
// MiB, so the test closes them with end.
func connectUntil(t *testing.T, addr string) (conn *zk.Conn, end func()) {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(quiet{}))
	must.Succeed(t, err)
	return conn, func() {
		conn.Close()
		for range events { // closed once the connection's goroutines have ended
		}
	}
}

// zkQueue makes a kazoo lock directory with n contenders in one session and returns their names.
func zkQueue(t *testing.T, conn *zk.Conn, dir string, n int) []string {
	t.Helper()
	must.Have(conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll)))(t)
	var names []string
	for range n {
		path := must.Have(conn.Create(dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__", []byte("w"), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)))(t)
		names = append(names, filepath.Base(path))
	}
	return names
}

func TestReleaseFreesHolderAndNamesNext(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 3)
		audit, path := openAudit(t)
		releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[0])})
		if p.Next == nil || p.Next.Name.Raw() != names[1] || p.Next.State != inspect.Waiting || len(p.Sends) != 3 || len(p.Warnings) == 0 {
			t.Errorf("preview %+v", p)
		}
		if lines := auditLines(t, path); len(lines) != 0 {
			t.Errorf("a preview was audited: %v", lines)
		}
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || !result.Released || len(result.HoldersAfter) != 1 || result.HoldersAfter[0].Name.Raw() != names[1] {
			t.Errorf("result %+v, %v", result, err)
		}
		if result.Next == nil || result.Next.Name.Raw() != names[1] || result.Next.State != inspect.Holding {
			t.Errorf("next %+v", result.Next)
		}
		lines := auditLines(t, path)
		if len(lines) != 2 || lines[0]["phase"] != "intent" || lines[1]["phase"] != "result" || lines[1]["released"] != true || lines[0]["confirmed"] != "typed" {
			t.Errorf("audit %v", lines)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("audit file mode %v, %v", info.Mode(), err)
		}
		// Executing the same preview again reports the contender gone and leaves the others alone.
		again, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || again.Released || again.Reason != Gone {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

// A recreated directory can give a node the same number, at version 0. Only czxid and session
// differ.
func TestReleaseRefusesRecreatedNode(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 1)
		releaser := onEnsemble(t, conn, server.Addr)
		request := Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[0])}
		p := must.Have(releaser.Preview(t.Context(), request))(t)
		for _, path := range []string{dir + "/" + names[0], dir} {
			must.Succeed(t, conn.Delete(path, -1))
		}
		if again := zkQueue(t, conn, dir, 1); again[0] != names[0] {
			t.Fatalf("recreated as %s, want the same name", again[0])
		}
		if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || result.Reason != Changed || result.Released {
			t.Errorf("result %+v, %v", result, err)
		}
		if _, stat, err := conn.Get(dir + "/" + names[0]); err != nil || stat.Czxid == p.Seen.Czxid {
			t.Errorf("the new node was touched: %v", err)
		}
		// A preview of the node as seen before is refused too.
		old := *p.Seen
		request.Lock = &inspect.Lock{ID: request.ID, Holders: []inspect.Contender{old}}
		if p, err := releaser.Preview(t.Context(), request); err != nil || p.Refused != Changed {
			t.Errorf("preview %+v, %v", p, err)
		}
	})
}

func TestNoAuditNoAction(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 1)
		audit, _ := openAudit(t)
		releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		p := must.Have(releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[0])}))(t)
		audit.Close()
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err == nil || result.Released || result.Reason != NoAudit {
			t.Errorf("result %+v, %v", result, err)
		}
		if ok, _, _ := conn.Exists(dir + "/" + names[0]); !ok {
			t.Error("the node was deleted without an audit line")
		}
	})
}

func redisMastersOf(t *testing.T, servers []*servertest.Redis) (clients []redis.UniversalClient, addrs []string) {
	t.Helper()
	for _, s := range servers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		clients, addrs = append(clients, c), append(addrs, s.Addr)
	}
	return clients, addrs
}

func TestReleaseChecksAndDeletesPerMaster(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		key := servertest.UniqueName(t)
		long := strings.Repeat("x", 3000)
		for _, value := range []string{"Y2NjY2NjY2NjY2NjY2NjYw==", "\xff\x00binary", long} {
			for _, c := range clients {
				must.Succeed(t, c.Set(t.Context(), key, value, time.Minute).Err())
			}
			audit, path := openAudit(t)
			releaser := NewRedis(clients, Target{Name: "redis", Servers: addrs}, 30*time.Second, audit)
			owner := inspect.Untrusted(value)
			if len(value) > 1<<10 {
				owner = inspect.Untrusted(digest(value))
			}
			p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: owner})
			if err != nil || p.Refused != "" || len(p.Sends) != 3 {
				t.Fatalf("preview %+v, %v", p, err)
			}
			// The third master gets another holder between preview and release. That holder must
			// stay.
			must.Succeed(t, clients[2].Set(t.Context(), key, "other", time.Minute).Err())
			result, err := releaser.Execute(t.Context(), p, "--yes")
			if err != nil || !result.Released || !result.Masters[0].Deleted || !result.Masters[1].Deleted || result.Masters[2].Deleted {
				t.Errorf("result %+v, %v", result, err)
			}
			must.Equal(t, clients[2].Get(t.Context(), key).Val(), "other", "value on the third master")
			text, _ := os.ReadFile(path)
			must.True(t, !strings.Contains(string(text), "Y2Nj"), "the audit file contains a holder's secret value:", text)
			if p, err = releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: owner}); err != nil || p.Refused != Changed {
				t.Errorf("stale owner: %+v, %v", p, err)
			}
			clients[2].Del(t.Context(), key)
			if p, err = releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: owner}); err != nil || p.Refused != Gone {
				t.Errorf("gone owner: %+v, %v", p, err)
			}
		}
	})
}

func TestReleaseFailsWithoutQuorum(t *testing.T) {
	t.Parallel()
	servers := servertest.StartEmbeddedMasters(t, 3)
	clients, addrs := redisMastersOf(t, servers)
	for _, c := range clients {
		c.Set(t.Context(), "lock:a", "v", 0)
	}
	releaser := onMasters(t, clients, addrs)
	p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: "v"})
	servers[1].Stop(t)
	servers[2].Stop(t)
	result, err := releaser.Execute(t.Context(), p, "typed")
	if err == nil || result.Released || result.Reason != NoQuorum || result.Masters[0].Deleted || result.Masters[1].Err == nil {
		t.Errorf("result %+v, %v", result, err)
	}
	if n := clients[0].Exists(t.Context(), "lock:a").Val(); n != 1 {
		t.Error("deleted, although the holder is unknown")
	}
}

func TestReleaseLeavesOtherKeyTypes(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, servers []*servertest.Redis) {
		clients, addrs := redisMastersOf(t, servers)
		key := servertest.UniqueName(t)
		clients[0].HSet(t.Context(), key, "field", "v")
		releaser := onMasters(t, clients, addrs)
		p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: "v"})
		if err != nil || p.Refused == "" {
			t.Errorf("preview %+v, %v", p, err)
		}
		must.Equal(t, clients[0].Exists(t.Context(), key).Val(), 1, "keys left")
	})
}

// Of many concurrent releases of one holder, exactly one succeeds.
func TestConcurrentReleasesSucceedOnce(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		names := zkQueue(t, conn, dir, 9)
		releaser := onEnsemble(t, conn, server.Addr)
		p := must.Have(releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[0])}))(t)
		results := make(chan Result, 8)
		for range cap(results) {
			go func() {
				r, err := releaser.Execute(t.Context(), p, "typed")
				must.Be(t, err, nil)
				results <- r
			}()
		}
		released := 0
		for range cap(results) {
			if r := <-results; r.Released {
				released++
			} else if r.Reason != Gone {
				t.Errorf("refused as %q, want gone", r.Reason)
			}
		}
		children, _, err := conn.Children(dir)
		if err != nil || released != 1 || len(children) != 8 {
			t.Errorf("%d releases succeeded, %d of 9 contenders are left, %v", released, len(children), err)
		}
	})
}

func TestReleaseFreesPermitsAndLoneNodes(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, other := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		dir := servertest.UniquePath(t)
		create := func(c *zk.Conn, path string, flags int32) string {
			made := must.Have(c.Create(path, nil, flags, zk.WorldACL(zk.PermAll)))(t)
			return filepath.Base(made)
		}
		const protected, sequential = "/_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-", zk.FlagEphemeral | zk.FlagSequence
		for _, p := range []string{"", "/leases", "/locks"} {
			create(conn, dir+p, 0)
		}
		held := create(conn, dir+"/leases"+protected+"lease-", sequential)
		create(other, dir+"/locks"+protected+"lock-", sequential)
		pending := create(other, dir+"/leases"+protected+"lease-", sequential)
		releaser := onEnsemble(t, conn, server.Addr)
		release := func(path, owner string) (Preview, Result) {
			t.Helper()
			p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "zk", Path: path}, Owner: inspect.Untrusted(owner)})
			result := must.Have(releaser.Execute(t.Context(), p, "typed"))(t)
			return p, result
		}
		p, result := release(dir, held)
		if !result.Released || p.Seen.Place != "leases" || p.Next == nil || p.Next.Name.Raw() != pending {
			t.Errorf("permit: preview %+v, result %+v", p, result)
		}
		node := create(conn, dir+"/leader", zk.FlagEphemeral)
		if _, result = release(dir+"/leader", node); !result.Released || len(result.HoldersAfter) != 0 {
			t.Errorf("lone node: %+v", result)
		}
		if exists, _, _ := conn.Exists(dir + "/leader"); exists {
			t.Error("the node still exists")
		}
	})
}
