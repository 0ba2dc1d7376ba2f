package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/act"
	"github.com/lockscope/lockscope/cli/hold"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestAcquireRunsACommandUnderTheLock(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := "zk://" + server.Addr
		got := run(t, "acquire", "zk:"+path, target, "--label", "me", "--", "sh", "-c", "echo $LOCKSCOPE_LOCK $LOCKSCOPE_TOKEN; exit 7")
		fields := strings.Fields(got.stdout)
		if got.code != 7 || len(fields) != 2 || fields[0] != "zk:"+path || fields[1] == "0" {
			t.Errorf("%+v", got)
		}
		run(t, "acquire", "zk:"+path, target, "--", "sh", "-c", "kill -9 $$").wants(t, 137, "", "")
		run(t, "acquire", "zk:"+path, target, "--", "no-such-command").wants(t, 2, "", "")
		if children := childrenOf(t, server.Addr, path); len(children) != 0 {
			t.Errorf("left behind: %v", children)
		}
	})
}

func childrenOf(t *testing.T, addr, path string) []string {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(silentZK{}))
	must.Succeed(t, err)
	defer func() {
		conn.Close()
		for range events { // closed when its goroutines have ended
		}
	}()
	children, _, err := conn.Children(path)
	must.Succeed(t, err)
	return children
}

type silentZK struct{}

func (silentZK) Printf(string, ...any) {}

// A kazoo client holds; our acquire queues behind it by its own recipe, without a flag for it.
func TestAcquireQueuesWithWhoIsThere(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := fmt.Sprintf("zk://%s%s?admin=%s", server.Addr, path, server.Admin)
		peer := servertest.StartKazoo(t, server.Addr, path, "worker-1")
		peer.Expect(t, "acquired")
		run(t, "acquire", "zk:"+path, target, "--wait", "0").wants(t, 1, "", "holds it")
		run(t, "acquire", "zk:"+path, target, "--wait", "300ms").wants(t, 1, "", "not acquired within")
		if got := run(t, "acquire", "zk:"+path, target, "--recipe", "curator", "--wait", "0"); got.code != 1 ||
			!strings.Contains(got.stderr, "kazoo") || !strings.Contains(got.stderr, "curator") {
			t.Errorf("mixed recipes: %+v", got)
		}
		if children := childrenOf(t, server.Addr, path); len(children) != 1 {
			t.Errorf("left behind: %v", children)
		}
		done := make(chan outcome, 1)
		go func() { done <- run(t, "acquire", "zk:"+path, target, "-o", "jsonl", "--", "true") }()
		await(t, "our place in the queue", func(o outcome) bool { return strings.Contains(o.stdout, "1 waiting") }, "show", "zk:"+path, target)
		first := childrenOf(t, server.Addr, path)
		slices.SortFunc(first, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
		peer.Release(t)
		peer.Expect(t, "released")
		got := <-done
		var events []string
		for _, line := range strings.Split(strings.TrimSpace(got.stdout), "\n") {
			var e hold.LockEvent
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			events = append(events, e.Event)
			if e.Event == "waiting" && (e.Behind != first[0] || e.Position != 1 || e.Name != first[1]) {
				t.Errorf("waiting in %q: %+v", first, e)
			}
			if e.Event == "acquired" && (e.Token == nil || e.Deadline == nil || !strings.Contains(e.Name, "__lock__")) {
				t.Errorf("acquired %+v", e)
			}
		}
		if got.code != 0 || strings.Join(events, " ") != "waiting acquired released" {
			t.Errorf("%v: %+v", events, got)
		}
	})
}

// Readers share a lock, by the recipe of the clients that are there; writers, and clients of another kind of lock, do not get it.
func TestAcquireReadsAndWrites(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := fmt.Sprintf("zk://%s%s?admin=%s", server.Addr, path, server.Admin)
		try := func(kind string) outcome {
			return run(t, "acquire", "zk:"+path, target, "--kind", kind, "--wait", "0", "-o", "jsonl", "--", "true")
		}
		peer := servertest.StartCurator(t, server.Addr)
		peer.Send(t, "read", "one", path)
		peer.Expect(t, "acquired")
		if got := try("read"); got.code != 0 || !strings.Contains(got.stdout, "__READ__") {
			t.Errorf("a read beside a Curator read: %+v", got)
		}
		if got := try("write"); got.code != 1 || !strings.Contains(got.stderr, "holds it") {
			t.Errorf("a write beside a Curator read: %+v", got)
		}
		if got := try("mutex"); got.code != 1 || !strings.Contains(got.stderr, "read-write lock of curator") || !strings.Contains(got.stderr, "--kind") {
			t.Errorf("a mutex beside a Curator read: %+v", got)
		}
		if children := childrenOf(t, server.Addr, path); len(children) != 1 {
			t.Errorf("left behind: %v", children)
		}
		peer.Send(t, "close", "one")
		run(t, "acquire", "zk:"+path, target, "--kind", "write", "-o", "jsonl", "--", "true").wants(t, 0, "__WRIT__", "")
	})
}

func TestRedlockByCommandLine(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, servers []*servertest.Redis) {
		key := "lock:" + servertest.UniqueName(t)
		var addrs []string
		for _, s := range servers {
			addrs = append(addrs, s.Addr)
		}
		target := "redis://" + strings.Join(addrs, ",")
		got := run(t, "acquire", "redis:"+key, target, "-o", "jsonl", "--", "true")
		if got.code != 0 || !strings.Contains(got.stdout, `"event":"acquired"`) || !strings.Contains(got.stdout, `"token":null`) {
			t.Errorf("%+v", got)
		}
		run(t, "show", "redis:"+key, target).wants(t, 1, "", "")
	})
}

// Too few masters are waited for, and then it is the answer no, as for any lock that cannot be had now.
func TestAcquireWaitsForTooFewMasters(t *testing.T) {
	t.Parallel()
	var servers []*servertest.Redis
	var addrs []string
	for range 3 {
		s := servertest.StartEmbeddedRedis(t)
		servers, addrs = append(servers, s), append(addrs, s.Addr)
	}
	servers[1].Stop(t)
	servers[2].Stop(t)
	target := "redis://" + strings.Join(addrs, ",")
	for wait, want := range map[string]string{"0": "too few masters answered", "300ms": "not acquired within 300ms"} {
		got := run(t, "acquire", "redis:lock:a", target, "--wait", wait, "--", "true")
		if got.code != 1 || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("--wait %s: %+v, want %q", wait, got, want)
		}
	}
	servers[0].Stop(t)
	run(t, "acquire", "redis:lock:a", target, "--wait", "300ms", "--", "true").wants(t, 3, "", "")
}

// What acquire creates has the access list that was asked for.
func TestAcquireWithAnAccessList(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		got := run(t, "acquire", "zk:"+path, "zk://"+server.Addr, "--acl", "world:anyone:cdrw", "--", "true")
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		conn := servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
		acl, _, err := conn.GetACL(path)
		if want := zk.WorldACL(zk.PermCreate | zk.PermDelete | zk.PermRead | zk.PermWrite); err != nil || !slices.Equal(acl, want) {
			t.Errorf("the directory has %+v, %v", acl, err)
		}
	})
}

func TestReleaseByCommandLine(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := fmt.Sprintf("zk://%s%s?admin=%s", server.Addr, path, server.Admin)
		id := "zk:" + path
		stuck := servertest.StartKazoo(t, server.Addr, path, "stuck")
		stuck.Expect(t, "acquired")
		waiting := servertest.StartKazoo(t, server.Addr, path, "waiting")
		show := await(t, "waiter", func(o outcome) bool { return strings.Contains(o.stdout, `"label": "waiting"`) }, "show", id, target, "-o", "json")
		var l lock
		must.Succeed(t, json.Unmarshal([]byte(show.stdout), &l))
		state := t.TempDir()
		release := func(args ...string) (outcome, act.ReleaseJSON) {
			got := runIn(t, t.Context(), map[string]string{"XDG_STATE_HOME": state}, append([]string{"release", id, target, "-o", "json"}, args...)...)
			var j act.ReleaseJSON
			if err := json.Unmarshal([]byte(got.stdout), &j); err != nil {
				t.Fatalf("%v in %+v", err, got)
			}
			return got, j
		}
		if got, j := release("--owner", l.Holders[0].Name); got.code != 1 || j.Reason != "declined" || !strings.Contains(got.stderr, "--yes") {
			t.Errorf("without a terminal and --yes: %+v", got)
		}
		if got, j := release("--owner", l.Holders[0].Name, "--dry-run"); got.code != 0 || !j.DryRun || j.Released || j.Next == nil || !strings.Contains(got.stderr, "keeps working") {
			t.Errorf("dry run: %+v", got)
		}
		if got, j := release("--owner", l.Waiters[0].Name, "--yes"); got.code != 1 || j.Reason != "not-holder" {
			t.Errorf("a waiter: %+v", got)
		}
		if got, j := release("--owner", "nobody", "--yes"); got.code != 1 || j.Reason != "gone" || j.Seen != nil {
			t.Errorf("nobody: %+v", got)
		}
		got, j := release("--owner", l.Holders[0].Name, "--yes")
		if got.code != 0 || !j.Released || j.Reason != "" || len(j.HoldersAfter) != 1 || len(j.Masters) != 0 {
			t.Errorf("release: %+v", got)
		}
		waiting.Expect(t, "acquired")
		if text, err := os.ReadFile(filepath.Join(state, "lockscope", "audit.jsonl")); err != nil || strings.Count(string(text), "\n") != 2 {
			t.Errorf("audit file: %v\n%s", err, text)
		}
		// Without an audit file nothing is done.
		must.Succeed(t, os.WriteFile(filepath.Join(state, "file"), nil, 0o600))
		state = filepath.Join(state, "file")
		if got, j := release("--owner", l.Waiters[0].Name, "--yes"); got.code != 1 || j.Reason != "audit" {
			t.Errorf("no audit: %+v", got)
		}
	})
}

func TestMissingCredentialsNameServerAndUser(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.RequireUserAuth("ops", "right")
	target := "redis://" + server.Addr
	env := map[string]string{
		"XDG_STATE_HOME": t.TempDir(), "LOCKSCOPE_REDIS_USERNAME": "ops", "LOCKSCOPE_REDIS_PASSWORD": "hunter2",
	}
	for _, args := range [][]string{
		{"ls", target},
		{"acquire", "redis:lock:a", target, "--wait", "0"},
		{"release", "redis:lock:a", target, "--owner", "x", "--yes"},
	} {
		got := runIn(t, t.Context(), env, args...)
		if got.code != 3 || !strings.Contains(got.stderr, server.Addr) || !strings.Contains(got.stderr, "ops") || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%s: %+v", args[0], got)
		}
	}
	env["LOCKSCOPE_REDIS_PASSWORD"] = "right"
	runIn(t, t.Context(), env, "ls", target).wants(t, 0, "", "")
}

// A value below quorum holds nothing: while masters are silent the holder is unknown, and a leftover is not taken for a
// holder.
func TestReleaseWithoutAQuorum(t *testing.T) {
	t.Parallel()
	var addrs []string
	var servers []*servertest.Redis
	for i := range 3 {
		s := servertest.StartEmbeddedRedis(t)
		if i == 0 {
			s.Mini.Set("lock:a", "v")
		}
		servers, addrs = append(servers, s), append(addrs, s.Addr)
	}
	target := "redis://" + strings.Join(addrs, ",")
	run(t, "release", "redis:lock:a", target, "--owner", "v", "--yes").wants(t, 1, "", "no quorum")
	servers[1].Stop(t)
	servers[2].Stop(t)
	run(t, "release", "redis:lock:a", target, "--owner", "v", "--yes").wants(t, 3, "", "too few answered")
	run(t, "show", "redis:lock:a", target).wants(t, 3, "unknown: 2 of 3 masters did not answer", "")
}

// What cannot be run fails before the lock is asked for.
func TestAcquireLooksForItsCommandFirst(t *testing.T) {
	t.Parallel()
	got := run(t, "acquire", "zk:/l", "zk://127.0.0.1:1", "--", "no-such-command-anywhere")
	if got.code != 2 || !strings.Contains(got.stderr, "no-such-command-anywhere") || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

// A contender's label is not its name: the candidates are listed, and none is guessed.
func TestReleaseByALabelNamesTheContender(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		target := "zk://" + server.Addr
		for _, label := range []string{"nightly import", "twin", "twin"} {
			peer := servertest.StartKazoo(t, server.Addr, path, label)
			if label != "twin" {
				peer.Expect(t, "acquired")
			}
		}
		got := await(t, "all three", func(o outcome) bool { return strings.Contains(o.stdout, "2 waiting") }, "show", "zk:"+path, target, "-o", "tree")
		var l lock
		if err := json.Unmarshal([]byte(run(t, "show", "zk:"+path, target, "-o", "json").stdout), &l); err != nil {
			t.Fatalf("%v in %+v", err, got)
		}
		got = run(t, "release", "zk:"+path, target, "--owner", "nightly import", "--dry-run")
		want := fmt.Sprintf("lockscope: zk:%s: not released: \"nightly import\" is a label of %s, which holds it, and not its name (if you mean that one: lockscope release zk:%s %s --owner %s --dry-run)\n",
			path, l.Holders[0].Name, path, target, l.Holders[0].Name)
		if got.code != 1 || got.stdout != "" || got.stderr != want {
			t.Errorf("%+v\nwant %s", got, want)
		}
		if got := run(t, advised(t, strings.TrimSuffix(got.stderr, "\n"))...); got.code != 0 || !strings.HasPrefix(got.stdout, "release zk:"+path+"\n") || got.stderr != "" {
			t.Errorf("as advised: %+v", got)
		}
		if got := run(t, "release", "zk:"+path, target, "--owner", "twin", "--yes", "-o", "json"); got.code != 1 || !strings.Contains(got.stdout, `"reason": "gone"`) ||
			!strings.Contains(got.stderr, "2 contenders") || !strings.Contains(got.stderr, "lockscope show zk:"+path+" "+target+")") {
			t.Errorf("two of a label: %+v", got)
		}
		if got := run(t, "release", "zk:"+path, target, "--owner", "nobody", "--yes"); got.code != 1 || !strings.Contains(got.stderr, "no contender named nobody; nothing was done (look again: lockscope show zk:"+path+" "+target+")") {
			t.Errorf("nobody: %+v", got)
		}
		if got := run(t, "release", "zk:"+path, target, "--owner", l.Holders[0].Name); got.code != 1 || got.stdout != "" ||
			got.stderr != "lockscope: zk:"+path+": not released (declined): there is no terminal to ask on (give --yes)\n" {
			t.Errorf("without --yes: %+v", got)
		}
		if n := len(childrenOf(t, server.Addr, path)); n != 3 {
			t.Errorf("%d contenders are left", n)
		}
	})
}

func TestReleaseByALabelOnRedis(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, servers []*servertest.Redis) {
		id, target := "redis:lock:"+servertest.UniqueName(t), "redis://"+servers[0].Addr
		_, lines := started(t, "acquire", id, target, "--label", "night job")
		awaitLine(t, lines, "holding")
		got := run(t, "release", id, target, "--owner", "night job", "--dry-run")
		if got.code != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, `not released: "night job" is a label of `) {
			t.Fatalf("%+v", got)
		}
		run(t, advised(t, strings.TrimSuffix(got.stderr, "\n"))...).wants(t, 0, "owner   night job", "")
	})
}

// The next contender is shown as waiting until it was seen to hold.
func TestReleaseShowsTheStateOfWhoIsNext(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		id, target := "zk:"+path, "zk://"+server.Addr
		servertest.StartKazoo(t, server.Addr, path, "first").Expect(t, "acquired")
		servertest.StartKazoo(t, server.Addr, path, "second")
		show := await(t, "waiter", func(o outcome) bool { return strings.Contains(o.stdout, `"label": "second"`) }, "show", id, target, "-o", "json")
		var l lock
		must.Succeed(t, json.Unmarshal([]byte(show.stdout), &l))
		for _, step := range []struct{ flag, next string }{{"--dry-run", "waiting"}, {"--yes", "holding"}} {
			got := run(t, "release", id, target, "--owner", l.Holders[0].Name, step.flag, "-o", "json")
			var j struct{ Next struct{ State string } }
			if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || j.Next.State != step.next {
				t.Errorf("%s: next is %q, want %s: %v, %+v", step.flag, j.Next.State, step.next, err, got)
			}
		}
	})
}
