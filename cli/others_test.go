package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// show finds the deadlock that doctor finds: only the other locks show it.
func TestShowFindsADeadlock(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		clients := make([]*zk.Conn, 2)
		for i := range clients {
			c, _, err := zk.Connect([]string{server.Addr}, 10*time.Second, zk.WithLogger(silentLogger{}))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			clients[i] = c
		}
		create := func(client int, path string, flags int32) {
			if _, err := clients[client].Create(root+path, nil, flags, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		const kazoo = "/e3b0c44298fc1c149afbf4c8996fb924__lock__"
		for _, dir := range []string{"", "/a", "/b", "/chain"} {
			create(0, dir, 0)
		}
		for _, join := range []struct {
			client int
			dir    string
		}{{0, "/a"}, {1, "/b"}, {1, "/a"}, {0, "/b"}, {0, "/chain"}, {1, "/chain"}} {
			create(join.client, join.dir+kazoo, zk.FlagEphemeral|zk.FlagSequence)
		}
		target := "zk://" + server.Addr + root
		rules := func(lock string) (rules []string) {
			got := run(t, "show", "zk:"+root+lock, target, "-o", "json")
			var l struct{ Findings []struct{ Rule string } }
			if err := json.Unmarshal([]byte(got.stdout), &l); err != nil {
				t.Fatalf("%v: %+v", err, got)
			}
			for _, f := range l.Findings {
				rules = append(rules, f.Rule)
			}
			return rules
		}
		if got := rules("/a"); !slices.Contains(got, "deadlock") {
			t.Errorf("in a deadlock: %v", got)
		}
		if got := rules("/chain"); slices.Contains(got, "deadlock") {
			t.Errorf("in none: %v", got)
		}
		// So does the preview of a release, and who only holds one thing has no more.
		release := func(lock string, more ...string) (outcome, *releaseOthers) {
			var l struct{ Holders []struct{ Name string } }
			if err := json.Unmarshal([]byte(run(t, "show", "zk:"+root+lock, target, "-o", "json").stdout), &l); err != nil || len(l.Holders) != 1 {
				t.Fatalf("%v %+v", err, l)
			}
			got := run(t, append([]string{"release", "zk:" + root + lock, target, "--owner", l.Holders[0].Name, "--dry-run", "-o", "json"}, more...)...)
			var j releaseJSON
			if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || j.Others == nil {
				t.Fatalf("%v %+v", err, got)
			}
			return got, j.Others
		}
		got, others := release("/b")
		if !others.Read || !others.Known || others.Deadlock != "ends" || len(others.Holds) != 0 || !slices.Equal(others.Waits, []string{"zk:" + root + "/a", "zk:" + root + "/chain"}) ||
			!strings.Contains(got.stderr, "the deadlock that it stands in ends with it") {
			t.Errorf("release of one in a deadlock: %+v, %s", others, got.stderr)
		}
		if _, others := release("/a"); others.Deadlock != "stays" || !slices.Equal(others.Holds, []string{"zk:" + root + "/chain"}) || !slices.Equal(others.Waits, []string{"zk:" + root + "/b"}) {
			t.Errorf("release of one whose owner lets the other wait elsewhere, too: %+v", others)
		}
		if got, others := release("/chain"); others.Deadlock != "unknown" || !slices.Equal(others.NotGiven, []inspect.BackendKind{inspect.Redis}) || !strings.Contains(got.stderr, "no server of Redis was given") {
			t.Errorf("its owner may wait on servers that were not given: %+v, %s", others, got.stderr)
		}
		if _, others := release("/chain", "redis://"+servertest.StartEmbeddedRedis(t).Addr); others.Deadlock != "none" || others.NotGiven != nil || !slices.Equal(others.Holds, []string{"zk:" + root + "/a"}) {
			t.Errorf("release of one in none: %+v", others)
		}
		if got := run(t, "show", "zk:"+root+"/a", target); !strings.Contains(got.stdout, "deadlock over 2 locks") {
			t.Errorf("%s", got.stdout)
		}
	})
}

// Servers that were given with commas, each with locks of its own, are suspect, and not the lock that is shown of them:
// the other locks show that. Where these stand on a quorum, a lock that does not is a leftover.
func TestShowSuspectsServersRatherThanTheLock(t *testing.T) {
	var masters []*servertest.Redis
	var addrs []string
	for range 3 {
		m := servertest.StartEmbeddedRedis(t)
		masters, addrs = append(masters, m), append(addrs, m.Addr)
	}
	hold := func(key string, on ...int) {
		for _, i := range on {
			if err := masters[i].Mini.Set(key, "Zm9vYmFyYmF6cXV4MTIzNA=="); err != nil {
				t.Fatal(err)
			}
			masters[i].Mini.SetTTL(key, time.Minute)
		}
	}
	target := "redis://" + strings.Join(addrs, ",")
	hold("lock:a", 0)
	hold("lock:b", 1)
	got := run(t, "show", "redis:lock:a", target)
	if said := got.stdout + got.stderr; strings.Contains(said, "nobody holds") || strings.Contains(said, "minority-leftover") || !strings.Contains(said, "suspect-target") {
		t.Errorf("independent servers: exit %d\n%s", got.code, said)
	}
	hold("lock:c", 0, 1, 2)
	if got := run(t, "show", "redis:lock:a", target); !strings.Contains(got.stdout, "minority-leftover") {
		t.Errorf("masters of one lock: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
