package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// line returns the ACL line that doctor --access prints below a title.
func line(t testing.TB, text, title string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "  "+title+"\n")
	words, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	if !ok || !strings.HasPrefix(words, "ACL SETUSER ") {
		t.Fatalf("no line %q in %s", title, text)
	}
	return strings.Fields(strings.ReplaceAll(words, ">PASSWORD", ">"+marked+"x"))
}

// openCommands are allowed on every connection, whatever its user's rights (Redis, "ACL": commands
// without authentication).
var openCommands = []string{"auth", "hello", "quit", "reset"}

// refusedCommands counts the commands that a server refuses to a user, and checks that it refuses
// all but the granted ones. It runs none of them (ACL DRYRUN).
func refusedCommands(t *testing.T, admin *redis.Client, user string, granted []string) (refused int) {
	t.Helper()
	names, err := admin.Do(t.Context(), "COMMAND", "LIST").StringSlice()
	must.Succeed(t, err)
	for _, name := range names {
		parent, sub, _ := strings.Cut(name, "|")
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"|") }) {
			continue // its subcommands are listed instead
		}
		if slices.Contains(granted, "+"+name) || slices.Contains(granted, "+"+parent) || slices.Contains(openCommands, name) {
			continue
		}
		words := []any{"ACL", "DRYRUN", user, parent}
		if sub != "" {
			words = append(words, sub)
		}
		var said string
		for range 8 { // as many arguments as needed
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

// The server enforces the limits in permissions.md: no commands other than those in the ACL
// line, and no keys outside its pattern.
func TestRedisEnforcesAccountLimits(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	target := "redis://" + server.Addr + "?match=lock:*"
	lines := run(t, "doctor", "--access", target).stdout
	admin := server.Client(t)
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
		t.Errorf("the values are %q", v)
	}
}

// The Sentinel account can only find the master.
func TestSentinelEnforcesAccountLimits(t *testing.T) {
	t.Parallel()
	sentinel, _, _ := servertest.StartRedisSentinel(t)
	words := strings.Fields(strings.ReplaceAll("ACL SETUSER lockscope reset on >PASSWORD resetchannels +auth +hello +ping +sentinel|get-master-addr-by-name", ">PASSWORD", ">"+marked+"x"))
	redisDo(t, sentinel, words...)
	c := redis.NewClient(&redis.Options{Addr: sentinel, Username: "lockscope", Password: marked + "x"})
	defer c.Close()
	if at, err := c.Do(t.Context(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", servertest.SentinelMaster).StringSlice(); err != nil || len(at) != 2 {
		t.Errorf("address of the master: %v, %v", at, err)
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
	if got.code != app.ExitUnreachable || !strings.HasPrefix(may, "unknown, ") || !strings.Contains(may, "LOCKSCOPE_REDIS_SENTINEL_PASSWORD") || strings.Contains(may, "redis:") {
		t.Errorf("without its password: %q, %+v", may, got)
	}
}

// The error names the sentinels that refused, and a master that they do not know.
func TestActingNamesTheSentinelsThatRefuse(t *testing.T) {
	t.Parallel()
	sentinel := servertest.StartEmbeddedRedis(t)
	refuse := func(c *server.Peer, _ string, _ []string) { c.WriteError("NOAUTH Authentication required.") }
	must.Succeed(t, sentinel.Mini.Server().Register("SENTINEL", refuse))
	for _, command := range []string{"acquire redis:lock:a --wait 0", "contend redis:lock:a -n 1 --rounds 1"} {
		got := run(t, append(strings.Fields(command), "redis+sentinel://"+sentinel.Addr+"/mymaster")...)
		got.wants(t, app.ExitUnreachable, "", "LOCKSCOPE_REDIS_SENTINEL_PASSWORD", command)
		must.True(t, !strings.Contains(got.stderr, "unreachable"), command, got)
	}
}
