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

func connectZooKeeper(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	return servertest.ConnectZooKeeper(t, addr, 30*time.Second)
}

const sequential = zk.FlagEphemeral | zk.FlagSequence

// create creates a znode and returns its path.
func create(t *testing.T, conn *zk.Conn, path, data string, flags int32) string {
	t.Helper()
	return must.Have(conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll)))(t)
}

// zkQueue makes a kazoo lock directory with n contenders in one session and returns their names.
func zkQueue(t *testing.T, conn *zk.Conn, dir string, n int) []string {
	t.Helper()
	create(t, conn, dir, "", 0)
	var names []string
	for range n {
		names = append(names, filepath.Base(create(t, conn, dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__", "w", sequential)))
	}
	return names
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

// ofKey is a request to release a value from a lock in Redis.
func ofKey(key, value string) Request {
	return Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: inspect.Untrusted(value)}
}

// ofNode is a request to release a contender of a lock in ZooKeeper.
func ofNode(lock, name string) Request {
	return Request{ID: inspect.ID{Backend: "zk", Path: lock}, Owner: inspect.Untrusted(name)}
}

// perform executes a request that its preview must not refuse.
func perform(t *testing.T, r Releaser, request Request) (Result, error) {
	t.Helper()
	return r.Execute(t.Context(), confirmed(t, r, request), "--yes")
}

// command executes Redis commands, separated by semicolons.
func command(t *testing.T, c redis.UniversalClient, commands string) {
	t.Helper()
	for _, line := range strings.Split(commands, ";") {
		var args []any
		for _, word := range strings.Fields(line) {
			args = append(args, word)
		}
		must.Succeed(t, c.Do(t.Context(), args...).Err())
	}
}

// hear subscribes to channels. A waiter whose library subscribes looks dead without it.
func hear(t *testing.T, c redis.UniversalClient, channels ...string) *redis.PubSub {
	t.Helper()
	heard := c.Subscribe(t.Context(), channels...)
	t.Cleanup(func() { heard.Close() })
	must.Have(heard.Receive(t.Context()))(t)
	return heard
}

// lastAudited returns the last line of an audit file.
func lastAudited(t *testing.T, a *Audit) map[string]any {
	t.Helper()
	lines := auditLines(t, a.path)
	return lines[len(lines)-1]
}
