package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/connect"
	"lockscope/internal/servertest"
)

// openCommands are let run by every connection, whatever its user may do (Redis, "ACL": commands without authentication).
var openCommands = []string{"auth", "hello", "quit", "reset"}

// refusedCommands counts the commands that a server refuses a user: all but those that the line granted. It asks of each (ACL DRYRUN)
// and runs none.
func refusedCommands(t *testing.T, admin *redis.Client, user string, granted []string) (refused int) {
	t.Helper()
	names, err := admin.Do(t.Context(), "COMMAND", "LIST").StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		parent, sub, _ := strings.Cut(name, "|")
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"|") }) {
			continue // its subcommands are in the list
		}
		if slices.Contains(granted, "+"+name) || slices.Contains(granted, "+"+parent) || slices.Contains(openCommands, name) {
			continue
		}
		words := []any{"ACL", "DRYRUN", user, parent}
		if sub != "" {
			words = append(words, sub)
		}
		var said string
		for range 8 { // as many arguments as it needs
			if said, err = admin.Do(t.Context(), words...).Text(); err == nil {
				break
			}
			words = append(words, "1")
		}
		switch {
		case err != nil || !strings.Contains(said, "has no permissions to run"):
			t.Errorf("%s: %s: %q, %v", user, name, said, err)
		default:
			refused++
		}
	}
	return refused
}

// What the page of permissions says that an account cannot do, the server refuses: every command that is not in its line, and
// every key that is not a lock's.
func TestRedisEnforcesTheLimitsOfTheAccounts(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	target := "redis://" + server.Addr + "?match=lock:*"
	lines := run(t, "doctor", "--access", target).stdout
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer admin.Close()
	redisDo(t, server.Addr, "SET", "lock:kept", "owner", "PX", "600000")
	redisDo(t, server.Addr, "SET", "customers:1", "secret of others")
	for user, title := range map[string]string{"viewer": "to view:", "operator": "to act:"} {
		words := line(t, lines, title)
		redisDo(t, server.Addr, words...)
		if n := refusedCommands(t, admin, user, words); n < 200 {
			t.Errorf("%s: only %d commands were tried and refused", user, n)
		}
		c := redis.NewClient(&redis.Options{Addr: server.Addr, Username: user, Password: marked + "x"})
		defer c.Close()
		probes := [][]any{
			{"GETRANGE", "customers:1", "0", "-1"},
			{"TYPE", "customers:1"},
			{"KEYS", "*"},
			{"CONFIG", "GET", "*"},
			{"ACL", "LIST"},
			{"EVAL", "return redis.call('get', 'customers:1')", "0"},
			{"SET", "customers:1", "x"},
			{"FLUSHALL"},
			{"DEL", "customers:1"},
		}
		if user == "viewer" {
			probes = append(probes, []any{"SET", "lock:kept", "x"}, []any{"DEL", "lock:kept"}, []any{"PEXPIRE", "lock:kept", "1"},
				[]any{"EVAL", "return redis.call('del', KEYS[1])", "1", "lock:kept"}, []any{"PUBLISH", "lock:kept", "x"},
				[]any{"CLIENT", "KILL", "ID", "1"}, []any{"GET", "lock:kept"})
		}
		for _, probe := range probes {
			if err := c.Do(t.Context(), probe...).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") && !strings.Contains(err.Error(), "can't access") {
				t.Errorf("%s: %v: %v", user, probe, err)
			}
		}
	}
	if v := admin.Get(t.Context(), "lock:kept").Val() + admin.Get(t.Context(), "customers:1").Val(); v != "ownersecret of others" {
		t.Errorf("what stood there is %q", v)
	}
}

// Of a Sentinel the account for it learns where the master is, and can do nothing else.
func TestASentinelEnforcesTheLimitsOfTheAccount(t *testing.T) {
	t.Parallel()
	sentinel, _, _ := servertest.StartRedisSentinel(t)
	words := strings.Fields(strings.ReplaceAll(sentinelLine, ">PASSWORD", ">"+marked+"x"))
	redisDo(t, sentinel, words...)
	c := redis.NewClient(&redis.Options{Addr: sentinel, Username: "lockscope", Password: marked + "x"})
	defer c.Close()
	if at, err := c.Do(t.Context(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", servertest.SentinelMaster).StringSlice(); err != nil || len(at) != 2 {
		t.Errorf("where the master is: %v, %v", at, err)
	}
	for _, probe := range [][]any{
		{"SENTINEL", "FAILOVER", servertest.SentinelMaster},
		{"SENTINEL", "MASTERS"},
		{"SENTINEL", "REMOVE", servertest.SentinelMaster},
		{"SENTINEL", "SET", servertest.SentinelMaster, "quorum", "1"},
		{"ACL", "LIST"},
		{"CLIENT", "LIST"},
		{"SUBSCRIBE", "+switch-master"},
	} {
		if err := c.Do(t.Context(), probe...).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%v: %v", probe, err)
		}
	}
	redisDo(t, sentinel, "ACL", "SETUSER", "default", "resetpass", ">"+marked+"sentinel")
	got := run(t, "doctor", "--access", "redis+sentinel://"+sentinel+"/"+servertest.SentinelMaster, "--timeout", "60s")
	_, may, _ := strings.Cut(got.stdout, "may act: ")
	may, _, _ = strings.Cut(may, "\n")
	if got.code != exitUnreachable || !strings.HasPrefix(may, "unknown, ") || !strings.Contains(may, "LOCKSCOPE_REDIS_SENTINEL_PASSWORD") || strings.Contains(may, "redis:") {
		t.Errorf("without its password: %q, %+v", may, got)
	}
}

// A login that was taken away is gone at once: the open connection, and the next look.
func TestARevokedLoginIsGone(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	view, _ := redisLines(connect.Target{Match: []string{"lock:*"}}, &inspect.Backend{})
	redisDo(t, server.Addr, strings.Fields(strings.ReplaceAll(view[0], ">PASSWORD", ">"+marked+"x"))...)
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "LOCKSCOPE_REDIS_USERNAME": "viewer", "LOCKSCOPE_REDIS_PASSWORD": marked + "x"}
	ls := func() outcome {
		return runIn(t, t.Context(), env, "ls", "redis://"+server.Addr+"?match=lock:*", "--timeout", "60s")
	}
	if got := ls(); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	c := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "viewer", Password: marked + "x", MaxRetries: -1, PoolSize: 1})
	defer c.Close()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	redisDo(t, server.Addr, "ACL", "SETUSER", "viewer", "off")
	redisDo(t, server.Addr, "CLIENT", "KILL", "USER", "viewer")
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("the open connection answers")
	}
	if got := ls(); got.code != exitUnreachable || !strings.Contains(got.stderr, `user "viewer": the server refused the login`) {
		t.Errorf("%+v", got)
	}
}

// In ZooKeeper the viewer only reads, who acts changes no access list, both see nothing else, and a list without them ends it within
// the open session.
func TestZooKeeperEnforcesTheLimitsOfTheAccounts(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	open := func(user string) *zk.Conn {
		c, _, err := zk.Connect([]string{server.Addr}, 30*time.Second, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		if err := c.AddAuth("digest", []byte(user+":s")); err != nil {
			t.Fatal(err)
		}
		return c
	}
	app := open("app")
	own := zk.DigestACL(zk.PermAll, "app", "s")
	list := slices.Concat(own, zk.DigestACL(zk.PermRead, "viewer", "s"), zk.DigestACL(zk.PermRead|zk.PermWrite|zk.PermCreate|zk.PermDelete, "operator", "s"))
	for path, acl := range map[string][]zk.ACL{"/private": own, "/secure": list} {
		if _, err := app.Create(path, []byte("x"), 0, acl); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := app.Create("/secure/a", nil, 0, list); err != nil {
		t.Fatal(err)
	}
	tries := func(c *zk.Conn) map[string]error {
		did := map[string]error{}
		_, _, did["read"] = c.Children("/secure")
		_, _, did["get"] = c.Get("/secure/a")
		_, did["set"] = c.Set("/secure/a", nil, -1)
		_, did["create"] = c.Create("/secure/a/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, list)
		_, did["setAcl"] = c.SetACL("/secure/a", zk.WorldACL(zk.PermAll), -1)
		_, _, did["read others"] = c.Get("/private")
		_, did["write others"] = c.Set("/private", nil, -1)
		did["delete"] = c.Delete("/secure/gone", -1)
		return did
	}
	for user, may := range map[string][]string{"viewer": {"read", "get"}, "operator": {"read", "get", "set", "create", "delete"}} {
		if _, err := app.Create("/secure/gone", nil, 0, list); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Fatal(err)
		}
		for what, err := range tries(open(user)) {
			if allowed := slices.Contains(may, what); allowed && err != nil || !allowed && !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("%s: %s: %v", user, what, err)
			}
		}
	}
	viewer := open("viewer")
	if _, _, err := viewer.Get("/secure/a"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/secure", "/secure/a"} {
		if _, err := app.SetACL(path, own, -1); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := viewer.Get("/secure/a"); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("after it was revoked: %v", err)
	}
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "LOCKSCOPE_ZK_AUTH": "digest:viewer:s"}
	if got := runIn(t, t.Context(), env, "doctor", fmt.Sprintf("zk://%s/secure", server.Addr), "--timeout", "60s"); got.code != exitUnreachable {
		t.Errorf("%+v", got)
	}
}
