package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/act"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func runBulk(t *testing.T, env map[string]string, code int, args ...string) act.BulkJSON {
	t.Helper()
	full := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	for name, value := range env {
		full[name] = value
	}
	got := runIn(t, t.Context(), full, append(append([]string{"release"}, args...), "-o", "json")...)
	var j act.BulkJSON
	if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || got.code != code {
		t.Fatalf("%v: %v in %+v", args, err, got)
	}
	return j
}

// TestLeftoversAreSwept: values below the quorum go from the masters that have them, and nothing else does,
// be it held or of another name.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	var clients []*redis.Client
	var addrs []string
	for range 3 {
		server := servertest.StartRedis(t)
		addrs = append(addrs, server.Addr)
		clients = append(clients, newRedisClient(t, server.Addr))
	}
	set := func(key, value string, on ...int) {
		for _, i := range on {
			clients[i].Set(t.Context(), key, value, time.Hour)
		}
	}
	value := func(c string) string { return strings.Repeat(c, 21) + "g==" } // of redsync: 16 bytes
	set("lock:held", value("a"), 0, 1, 2)
	set("lock:also", value("b"), 0, 1)
	set("lock:left1", value("c"), 0)
	set("lock:left2", value("d"), 2)
	set("other:lock:left3", value("e"), 1)
	target := "redis://" + strings.Join(addrs, ",")
	sweep := []string{target, "--match", "redis:lock:*", "--finding", "minority-leftover"}
	if j := runBulk(t, nil, 1, append(sweep, "--max", "1", "--yes")...); j.Reason != act.TooMany || j.Matched != 2 || j.Released != 0 {
		t.Errorf("more than allowed: %+v", j)
	}
	if j := runBulk(t, nil, 0, append(sweep, "--max", "5", "--dry-run")...); j.Matched != 2 || j.Released != 0 || j.Stopped != nil {
		t.Errorf("the preview: %+v", j)
	}
	if j := runBulk(t, nil, 1, append(sweep, "--max", "5")...); j.Reason != "declined" || j.Released != 0 {
		t.Errorf("not confirmed: %+v", j)
	}
	if n := clients[0].Exists(t.Context(), "lock:left1").Val(); n != 1 {
		t.Fatal("nothing was to be done so far")
	}
	if j := runBulk(t, nil, 0, append(sweep, "--max", "5", "--yes")...); j.Released != 2 || j.Stopped != nil || len(j.Items) != 2 || !j.Items[0].Released {
		t.Errorf("the sweep: %+v", j)
	}
	for key, want := range map[string]int64{"lock:held": 3, "lock:also": 2, "lock:left1": 0, "lock:left2": 0, "other:lock:left3": 1} {
		got := int64(0)
		for _, c := range clients {
			got += c.Exists(t.Context(), key).Val()
		}
		if got != want {
			t.Errorf("%s is on %d masters, want %d", key, got, want)
		}
	}
	if j := runBulk(t, nil, 0, append(sweep, "--max", "5", "--yes")...); j.Matched != 0 {
		t.Errorf("once more: %+v", j)
	}
}

// TestWhatIsLeftOutIsSaid: a key that matches and may be no lock is not released, and not passed over in
// silence; what only goes with --match is refused without it.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	newRedisClient(t, server.Addr).Set(t.Context(), "lock:a", "v1", time.Hour)
	target := "redis://" + server.Addr
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
	got := runIn(t, t.Context(), env, "release", target, "--match", "redis:lock:*", "--max", "5", "--dry-run")
	if got.code != 0 || !strings.Contains(got.stderr, "1 more match and are left out") {
		t.Errorf("possibly a lock: %+v", got)
	}
	got = runIn(t, t.Context(), env, "release", target, "--match", "redis:other:*", "--max", "5", "--dry-run")
	if got.code != 0 || strings.Contains(got.stderr, "left out") {
		t.Errorf("of another name: %+v", got)
	}
	for _, args := range [][]string{{"--max", "5"}, {"--finding", "no-ttl"}} {
		runIn(t, t.Context(), env, append([]string{"release", "redis:lock:a", target, "--owner", "v1", "--yes"}, args...)...).wants(t, 2, "", "")
	}
}

// TestManyReleasesStopAtTheFirstSurprise: what comes behind the lock that could not be released stays.
func TestManyReleasesStopAtTheFirstSurprise(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	client := newRedisClient(t, server.Addr)
	for _, key := range []string{"lock:1", "lock:2", "lock:3", "lock:4"} {
		client.Set(t.Context(), key, strings.Repeat(string('A'+key[5]-'0'), 21)+"g==", time.Hour)
	}
	must.Succeed(t, client.Do(t.Context(), "acl", "setuser", "ops", "on", ">pw", "+@all", "&*", "%R~*", "%RW~lock:1", "%RW~lock:3").Err())
	env := map[string]string{"LOCKSCOPE_REDIS_USERNAME": "ops", "LOCKSCOPE_REDIS_PASSWORD": "pw"}
	j := runBulk(t, env, 1, "redis://"+server.Addr, "--match", "redis:lock:[1-3]", "--max", "9", "--yes")
	if j.Matched != 3 || j.Released != 1 || j.Stopped == nil || *j.Stopped != "redis:lock:2" || !j.Items[1].Tried || j.Items[1].Error == "" || j.Items[2].Tried {
		t.Errorf("%+v", j)
	}
	if n := client.Exists(t.Context(), "lock:1", "lock:2", "lock:3", "lock:4").Val(); n != 3 {
		t.Errorf("%d of them are left, want 3", n)
	}
	for _, bad := range [][]string{
		{"--match", "*", "--yes"}, {"--match", "*", "--max", "5", "--owner", "x"}, {"--match", "*", "--max", "5", "--finding", "no-such"}, {"--match", "*", "--max", "5", "--waiter"},
	} {
		run(t, append([]string{"release", "redis://" + server.Addr}, bad...)...).wants(t, 2, "", "")
	}
}
