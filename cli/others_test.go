package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/act"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// entangled are the queues of two clients that each hold the lock that the other waits for.
type entangled struct {
	*testing.T
	root, target string
}

// entangle lets them hold /a and /b and wait for the other's. The first also holds /chain, which the second
// waits for. Two others queue in /idle.
func entangle(t *testing.T, addr string) entangled {
	e := entangled{t, servertest.UniquePath(t), ""}
	e.target = "zk://" + addr + e.root
	clients := make([]*zk.Conn, 4)
	for i := range clients {
		clients[i] = servertest.ConnectZooKeeper(t, addr, 10*time.Second)
	}
	create := func(client int, path string, flags int32) {
		if _, err := clients[client].Create(e.root+path, nil, flags, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for _, dir := range []string{"", "/a", "/b", "/chain", "/idle"} {
		create(0, dir, 0)
	}
	for _, join := range []struct {
		client int
		dir    string
	}{{0, "/a"}, {1, "/b"}, {1, "/a"}, {0, "/b"}, {0, "/chain"}, {1, "/chain"}, {2, "/idle"}, {3, "/idle"}} {
		create(join.client, join.dir+"/e3b0c44298fc1c149afbf4c8996fb924__lock__", zk.FlagEphemeral|zk.FlagSequence)
	}
	return e
}

// show reads what show knows of a lock.
func (e entangled) show(lock string, into any) {
	e.Helper()
	if got := run(e.T, "show", "zk:"+e.root+lock, e.target, "-o", "json"); json.Unmarshal([]byte(got.stdout), into) != nil {
		e.Fatalf("%+v", got)
	}
}

func (e entangled) rules(lock string) (rules []string) {
	e.Helper()
	var l struct{ Findings []struct{ Rule string } }
	e.show(lock, &l)
	for _, f := range l.Findings {
		rules = append(rules, f.Rule)
	}
	return rules
}

// release is the preview of a release of the holder.
func (e entangled) release(lock string, more ...string) (outcome, *act.ReleaseOthers) {
	e.Helper()
	var l struct{ Holders []struct{ Name string } }
	if e.show(lock, &l); len(l.Holders) != 1 {
		e.Fatalf("%+v", l)
	}
	got := run(e.T, append([]string{"release", "zk:" + e.root + lock, e.target, "--owner", l.Holders[0].Name, "--dry-run", "-o", "json"}, more...)...)
	var j act.ReleaseJSON
	if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || j.Others == nil {
		e.Fatalf("%v %+v", err, got)
	}
	return got, j.Others
}

// show finds the deadlock that doctor finds: only the other locks show it.
func TestShowFindsADeadlock(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		e := entangle(t, server.Addr)
		if got := e.rules("/a"); !slices.Contains(got, "deadlock") {
			t.Errorf("in a deadlock: %v", got)
		}
		if got := e.rules("/chain"); !slices.Contains(got, "deadlock") {
			t.Errorf("in another of the same two: %v", got)
		}
		if got := e.rules("/idle"); slices.Contains(got, "deadlock") {
			t.Errorf("in none: %v", got)
		}
		// So does the preview of a release; an owner of one lock has no others.
		got, others := e.release("/b")
		if !others.Read || !others.Known || others.Deadlock != "ends" || len(others.Holds) != 0 || !slices.Equal(others.Waits, []string{"zk:" + e.root + "/a", "zk:" + e.root + "/chain"}) ||
			!strings.Contains(got.stderr, "this also breaks the deadlock") {
			t.Errorf("release of one in a deadlock: %+v, %s", others, got.stderr)
		}
		if _, others := e.release("/a"); others.Deadlock != "stays" || !slices.Equal(others.Holds, []string{"zk:" + e.root + "/chain"}) || !slices.Equal(others.Waits, []string{"zk:" + e.root + "/b"}) {
			t.Errorf("release of one whose owner blocks the other elsewhere, too: %+v", others)
		}
		if got, others := e.release("/idle"); others.Deadlock != "unknown" || !slices.Equal(others.NotGiven, []inspect.BackendKind{inspect.Redis}) || strings.Contains(got.stderr, "Redis") {
			t.Errorf("its owner may wait on servers that were not given: %+v, %s", others, got.stderr)
		}
		if _, others := e.release("/idle", "redis://"+servertest.StartEmbeddedRedis(t).Addr); others.Deadlock != "none" || others.NotGiven != nil || len(others.Holds) != 0 {
			t.Errorf("release of one in none: %+v", others)
		}
		if got := run(t, "show", "zk:"+e.root+"/a", e.target); !strings.Contains(got.stdout, "deadlock over 2 locks") {
			t.Errorf("%s", got.stdout)
		}
	})
}

// Independent servers in one target are suspect, not the lock that is shown: the other locks show that. If the
// others are on a quorum, a lock that is not is a leftover.
func TestShowSuspectsServersRatherThanTheLock(t *testing.T) {
	t.Parallel()
	var masters []*servertest.Redis
	var addrs []string
	for range 3 {
		m := servertest.StartEmbeddedRedis(t)
		masters, addrs = append(masters, m), append(addrs, m.Addr)
	}
	hold := func(key string, on ...int) {
		for _, i := range on {
			must.Succeed(t, masters[i].Mini.Set(key, "Zm9vYmFyYmF6cXV4MTIzNA=="))
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
