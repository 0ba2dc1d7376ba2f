package act

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/goccy/go-yaml"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// openAudit opens an audit trail in a new file.
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

// eachOwnRedis runs a test on an embedded and on a real server that it does not share.
func eachOwnRedis(t *testing.T, f func(t *testing.T, server *servertest.Redis, client *redis.Client, releaser *Redis)) {
	t.Run("embedded", func(t *testing.T) {
		server := servertest.StartEmbeddedRedis(t)
		client := server.Client(t)
		f(t, server, client, onMaster(t, client, server.Addr))
	})
	t.Run("real", func(t *testing.T) {
		server, client, releaser := onOneMaster(t)
		f(t, server, client, releaser)
	})
}

// eachOwnZooKeeper runs a test on an embedded and on a real server that it does not share.
func eachOwnZooKeeper(t *testing.T, f func(t *testing.T, server *servertest.ZooKeeper)) {
	t.Run("embedded", func(t *testing.T) { f(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})) })
	t.Run("real", func(t *testing.T) { f(t, servertest.StartZooKeeper(t)) })
}

// onMaster is a releaser on one master.
func onMaster(t *testing.T, client redis.UniversalClient, addr string) *Redis {
	t.Helper()
	audit, _ := openAudit(t)
	target := Target{Name: "redis", Servers: []string{addr}, Now: time.Now}
	return NewRedis([]redis.UniversalClient{client}, target, 30*time.Second, audit)
}

// onServers returns a client of each master and a Releaser for locks on all of them.
func onServers(t *testing.T, servers ...*servertest.Redis) ([]redis.UniversalClient, *Redis) {
	t.Helper()
	releaser := onMaster(t, nil, "")
	releaser.masters, releaser.target.Servers = nil, nil
	for _, s := range servers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		releaser.masters, releaser.target.Servers = append(releaser.masters, c), append(releaser.target.Servers, s.Addr)
	}
	return releaser.masters, releaser
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

// auditLines reads the lines of an audit file.
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

// connectZooKeeper is a connection that ends with the test.
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

// command executes Redis commands. A text may have several, separated by semicolons.
func command(t *testing.T, c redis.UniversalClient, commands ...string) {
	t.Helper()
	for _, line := range strings.Split(strings.Join(commands, ";"), ";") {
		var args []any
		for _, word := range strings.Fields(line) {
			args = append(args, word)
		}
		must.Succeed(t, c.Do(t.Context(), args...).Err())
	}
}

// leave replaces the server's data with what a library leaves there.
func leave(t *testing.T, c redis.UniversalClient, commands ...string) {
	t.Helper()
	must.Succeed(t, c.FlushAll(t.Context()).Err())
	command(t, c, commands...)
}

const (
	ownerA = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718:7"
	ownerB = "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d:9"
	idA    = "web1_11_0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	idB    = "web2_22_7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d"
)

// ownValue is a value of our own locks; ownQueue and ownAlive are the keys of the waiters of lock:a.
func ownValue(n byte) string { return recipe.LockscopeToken([16]byte{n}, "w") }

var (
	ownQueue = recipe.LockscopeKey(recipe.QueuePrefix, "lock:a")
	ownAlive = recipe.LockscopeKey(recipe.AlivePrefix, "lock:a")
)

// longValue is too long to be shown, so that its digest is its name.
var longValue = strings.Repeat("v", 3000)

// capitals has pairs of a value and its name in testdata. A value comes before those it begins with.
func capitals() []string {
	return []string{
		ownerA, "THREAD1", ownerB, "THREAD2", ownerA[:36], "UUID1", ownerB[:36], "UUID2", idA, "WEB1", idB, "WEB2",
		"_c_" + ownerA[:36], "CURATOR", strings.ReplaceAll(ownerA[:36], "-", "") + "__lock__", "KAZOO",
		"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=", "TOKEN", longValue, "LONG",
		longValue[:1<<10], "START", digest(longValue), "DIGEST",
		ownValue(1), "OWN1", ownValue(2), "OWN2", ownValue(3), "OWN3", ownQueue, "OWNQUEUE", ownAlive, "OWNALIVE",
	}
}

// fill puts values in the place of their names. NAME is the lock's name, NOW the time and SOON an
// hour later, in milliseconds.
func fill(text, name string) string {
	now := time.Now()
	pairs := capitals()
	slices.Reverse(pairs)
	pairs = append(pairs, "NAME", name, "NOW", fmt.Sprint(now.UnixMilli()), "SOON", fmt.Sprint(now.Add(time.Hour).UnixMilli()))
	return strings.NewReplacer(pairs...).Replace(text)
}

// load reads a list from a file in testdata. name is the lock's name.
func load[T any](t *testing.T, file, name string) []T {
	t.Helper()
	text := must.Have(os.ReadFile(filepath.Join("testdata", file)))(t)
	var list []T
	must.Succeed(t, yaml.UnmarshalWithOptions([]byte(fill(string(text), name)), &list, yaml.Strict()))
	return list
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

// acts reports whether a command is a script that acts on a lock, not one that checks that the
// server supports scripts.
func acts(c redis.Cmder) bool {
	script, _ := append(c.Args(), "", "")[1].(string)
	tries := script == "0000000000000000000000000000000000000000" || script == "return 1"
	return strings.HasPrefix(c.Name(), "eval") && !tries
}

// atScripts is called instead of each script that acts on a lock, with the function that sends it.
type atScripts func(ctx context.Context, c redis.Cmder, send redis.ProcessHook) error

func (atScripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (atScripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f atScripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if acts(c) {
			return f(ctx, c, next)
		}
		return next(ctx, c)
	}
}
