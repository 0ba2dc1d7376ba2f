package cli

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// trouble is a fault on a real server, the rule that finds it, and the advised action.
type trouble struct {
	rule, on string
	// target is read first. then replaces it if the advice is to change the targets.
	target, then []string
	// advice is the part of the advice that do carries out.
	advice string
	do     func(f reportedFinding)
}

// find reads the targets and checks that all of the troubles are found, or that none is.
func find(t *testing.T, troubles []trouble, there bool) map[string]reportedFinding {
	t.Helper()
	found := map[string]reportedFinding{}
	looked := map[string][]reportedFinding{}
	for _, tr := range troubles {
		args := tr.target
		if !there && tr.then != nil {
			args = tr.then
		}
		key := strings.Join(args, " ")
		if _, ok := looked[key]; !ok {
			looked[key] = doctor(t, args...).all
		}
		at := slices.IndexFunc(looked[key], func(f reportedFinding) bool { return f.Rule == tr.rule && (f.on == tr.on || !there && tr.then != nil) })
		switch {
		case at < 0 && there:
			t.Errorf("%s: %s not found", tr.on, tr.rule)
		case at >= 0 && !there:
			t.Errorf("%s: still found after %q: %+v", tr.on, tr.advice, looked[key][at])
		case there && !strings.Contains(looked[key][at].Advice, tr.advice):
			t.Errorf("%s: %s advises %q, want %q", tr.on, tr.rule, looked[key][at].Advice, tr.advice)
		case there:
			found[tr.rule] = looked[key][at]
		}
	}
	return found
}

// carryOut follows the advice of each finding, and checks that the finding is gone.
func carryOut(t *testing.T, troubles []trouble) {
	t.Helper()
	found := find(t, troubles, true)
	if t.Failed() {
		return
	}
	for _, tr := range troubles {
		tr.do(found[tr.rule])
	}
	find(t, troubles, false)
}

// After an operator follows the advice of a ZooKeeper finding, the finding is gone.
func TestZooKeeperAdviceClearsFindings(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	other := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	w := &brokenServer{t: t, addr: server.Addr}
	kept := w.session()
	root := w.create(kept, "/advised", "", 0)
	w.hear(kept, root) // a client that queues just after the server's start may be reconnecting
	look := []string{"zk://" + server.Addr + root + "?admin=" + server.Admin}
	troubles := slices.Concat(w.wrongInQueues(root), w.leftInQueue(root), w.wrongClients(root))
	for i := range troubles {
		troubles[i].target = look
	}
	troubles = append(troubles, trouble{
		rule: "servers-disagree", on: "backend zk", advice: "give each ensemble its own target",
		target: []string{"zk://" + server.Addr + "," + other.Addr + "/none"}, then: []string{"zk://" + server.Addr, "zk://" + other.Addr},
		do: func(reportedFinding) {},
	})
	carryOut(t, troubles)
}

// wrongInQueues are queues with wrong entries.
func (w *brokenServer) wrongInQueues(root string) []trouble {
	kept := w.conns[0]
	dir := func(name string) string { return w.create(kept, root+"/"+name, "", 0) }
	remove := func(path string) {
		must.Succeed(w.t, kept.Delete(path, -1))
	}
	alien, mixed, wrapped := dir("alien"), dir("mixed"), dir("wrapped")
	w.queue(alien, w.session())
	w.create(kept, alien+"/README", "", 0)
	w.queue(mixed, w.session())
	goClient := w.session()
	w.create(goClient, mixed+"/_c_"+strings.Repeat("ab", 16)+"-lock-", "", zk.FlagEphemeral|zk.FlagSequence)
	last := w.session()
	w.create(last, wrapped+"/"+w.kazoo()+"2147483600", "", zk.FlagEphemeral)
	permits := w.create(kept, root+"/permits", "2", 0)
	w.create(kept, root+"/permits-__lock__", "", 0)
	leases := w.sessions(3)
	for i, s := range leases {
		w.create(s, fmt.Sprintf("%s/0c4f1b2e9d8a4f6fb1f0a7c3d5e6%04x", permits, i), "client", zk.FlagEphemeral)
	}
	return []trouble{
		{rule: "alien-child", on: "zk:" + alien, advice: "Make that program write elsewhere, then delete it", do: func(reportedFinding) {
			w.create(kept, root+"-README", "", 0)
			remove(alien + "/README")
		}},
		{rule: "mixed-recipes", on: "zk:" + mixed, advice: "stop the clients of all libraries but one", do: func(reportedFinding) { goClient.Close() }},
		{rule: "sequence-wrap", on: "zk:" + wrapped, advice: "stop the clients, delete the empty directory", do: func(reportedFinding) {
			last.Close()
			remove(wrapped)
			w.queue(w.create(kept, wrapped, "", 0), w.session())
		}},
		{rule: "semaphore-overcommit", on: "zk:" + permits, advice: "Restart those that use more than 2", do: func(reportedFinding) { leases[2].Close() }},
	}
}

// leftInQueue is a queue with an entry that no session owns.
func (w *brokenServer) leftInQueue(root string) []trouble {
	persistent := w.create(w.conns[0], root+"/persistent", "", 0)
	left := w.create(w.conns[0], persistent+"/"+w.kazoo(), "old", zk.FlagSequence)
	return []trouble{
		{rule: "persistent-contender", on: "zk:" + persistent, advice: "if its client is gone: lockscope release", do: func(f reportedFinding) {
			if got := run(w.t, append(wordsOf(w.t, commandOf(f.Steps)), "--yes")...); got.code != 0 || !strings.Contains(f.Advice, "old") && !strings.Contains(f.Advice, left[len(persistent)+1:]) {
				w.t.Errorf("%q: %+v", f.Advice, got)
			}
		}},
	}
}

// hear writes to the node until the server has heard from its client long after the node's creation.
// Before that, the client's watch may still be on its way.
func (w *brokenServer) hear(client *zk.Conn, node string) {
	w.t.Helper()
	for {
		stat := must.Have(client.Set(node, []byte("client"), -1))(w.t)
		if stat.Mtime-stat.Ctime > 6*inspect.WatchSettle.Milliseconds() {
			return
		}
	}
}

// wrongClients are queues with misbehaving clients.
func (w *brokenServer) wrongClients(root string) []trouble {
	kept := w.conns[0]
	dir := func(name string) string { return w.create(kept, root+"/"+name, "", 0) }
	unwatched, late, crowd := dir("unwatched"), dir("late"), dir("crowd")
	first := w.queue(unwatched, w.session())[0]
	sleeper := w.session()
	w.hear(sleeper, w.queue(unwatched, sleeper)[0])

	gone, next := w.session(), w.session()
	writeLock := func(c *zk.Conn) string {
		return w.create(c, late+"/x-"+w.sessionOf(c)+"-", "\x12\x34", zk.FlagEphemeral|zk.FlagSequence)
	}
	before := writeLock(gone)
	writeLock(next)
	gone.Close()
	if _, _, _, err := next.ExistsW(before); err != nil {
		w.t.Fatal(err)
	}
	many := w.sessions(12)
	nodes := w.queue(crowd, many...)
	for _, s := range many[1:] {
		w.watch(s, nodes[0])
	}
	hoard, hoarder := dir("hoard"), w.session()
	for i := range 60 {
		w.queue(w.create(kept, fmt.Sprintf("%s/h%d", hoard, i), "", 0), hoarder)
	}
	for i, s := range many[:11] {
		w.queue(w.create(kept, fmt.Sprintf("%s/o%d", hoard, i), "", 0), s)
	}
	return []trouble{
		{rule: "missing-watch", on: "zk:" + unwatched, advice: "restart that client so that it queues again", do: func(reportedFinding) {
			sleeper.Close()
			again := w.session()
			w.queue(unwatched, again)
			w.watch(again, first)
		}},
		{rule: "lost-wakeup", on: "zk:" + late, advice: "restart it if it is waiting", do: func(reportedFinding) {
			next.Close()
			writeLock(w.session())
		}},
		{rule: "outlier-client", on: "backend zk", advice: "restart its program, which frees what it leaked", do: func(reportedFinding) { hoarder.Close() }},
		{rule: "herd", on: "zk:" + crowd, advice: "each waiter should watch only the contender before it", do: func(reportedFinding) {
			for _, s := range many {
				s.Close()
			}
			w.queue(crowd, w.sessions(12)...)
		}},
	}
}

// cuttable returns a client whose connection can be cut. The session then times out, or end ends
// it.
func cuttable(t *testing.T, addr string, timeout time.Duration) (client *zk.Conn, cut, end func()) {
	t.Helper()
	var mu sync.Mutex
	var open net.Conn
	over := false
	client, _, err := zk.Connect([]string{addr}, timeout, zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithDialer(func(network, at string, limit time.Duration) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return nil, net.ErrClosed
		}
		conn, err := net.DialTimeout(network, at, limit)
		open = conn
		return conn, err
	}))
	must.Succeed(t, err)
	t.Cleanup(client.Close)
	cut = func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		open.Close()
	}
	return client, cut, func() {
		mu.Lock()
		over = false
		mu.Unlock()
		if _, _, err := client.Exists("/"); err != nil { // reconnects
			t.Error(err)
		}
		client.Close()
	}
}

// After an operator follows the advice of a finding on Redis, the finding is gone.
func TestRedisAdviceClearsFindings(t *testing.T) {
	t.Parallel()
	three, own, denied := startRedisMasters(t, 3), startRedisMasters(t, 2), startRedisMasters(t, 1)
	const a, b = "YWFhYWFhYWFhYWFhYWFhYQ==", "YmJiYmJiYmJiYmJiYmJiYg=="
	for i := range 2 {
		three.do(t, i, "SET lock:foreign "+a+" PX 3600000")
		three.do(t, i, "SET lock:forgotten "+a+" PX 3600000")
		own.do(t, i, fmt.Sprintf("SET lock:%d %s PX 3600000", i, []string{a, b}[i]))
	}
	denied.do(t, 0, "SET lock:kept "+a+" PX 3600000")
	denied.do(t, 0, "ACL SETUSER default -pttl")
	three.do(t, 2, "LPUSH lock:foreign job")
	three.do(t, 0, "CONFIG SET maxmemory 100mb")
	three.do(t, 0, "CONFIG SET maxmemory-policy allkeys-lru")
	look := []string{three.target("match=lock:*")}
	carryOut(t, []trouble{
		{rule: "blind", on: "redis:lock:kept", target: []string{"redis://" + denied.addrs[0] + "?match=lock:*"}, advice: "allow it: ACL SETUSER default", do: func(f reportedFinding) {
			_, command, _ := strings.Cut(f.Advice, ": ")
			denied.do(t, 0, strings.Join(wordsOf(t, command), " "))
		}},
		{rule: "foreign-value", on: "redis:lock:foreign", target: look, advice: "rename one of the two", do: func(reportedFinding) { three.do(t, 2, "RENAME lock:foreign jobs") }},
		{
			rule: "master-restarted", on: "redis:lock:forgotten", target: look, advice: "let the holder finish first",
			do: func(reportedFinding) {
				for i := range 2 {
					three.do(t, i, "DEL lock:forgotten")
				}
			},
		},
		{
			rule: "eviction-risk", on: "backend redis", target: look, advice: "maxmemory-policy noeviction",
			do: func(reportedFinding) { three.do(t, 0, "CONFIG SET maxmemory-policy noeviction") },
		},
		{
			rule: "suspect-target", on: "backend redis", target: []string{own.target("match=lock:*")}, advice: "give each server its own target",
			then: []string{"redis://" + own.addrs[0], "redis://" + own.addrs[1]}, do: func(reportedFinding) {},
		},
	})
}

// A master that refuses writes accepts them again after a successful save, or with more memory.
func TestAdviceRestoresRefusedWrites(t *testing.T) {
	t.Parallel()
	unsaved, full := startRedisMasters(t, 1), startRedisMasters(t, 1)
	for _, h := range []*redisMasters{unsaved, full} {
		h.do(t, 0, "SET lock:kept YWFhYWFhYWFhYWFhYWFhYQ== PX 3600000")
	}
	full.do(t, 0, "CONFIG SET maxmemory 1")
	c := unsaved.masters[0]
	taken := filepath.Join(c.ConfigGet(t.Context(), "dir").Val()["dir"], "dump.rdb")
	must.Succeed(t, os.Mkdir(taken, 0o755)) // a snapshot cannot be saved here
	save := func(want string) {
		must.Succeed(t, c.BgSave(t.Context()).Err())
		must.Become(t, "BGSAVE ends with "+want, func() bool {
			return strings.Contains(c.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status:"+want)
		})
	}
	must.Succeed(t, c.ConfigSet(t.Context(), "save", "3600 1").Err())
	save("err")
	for _, tr := range []trouble{
		{
			rule: "writes-refused", on: "backend redis", target: []string{unsaved.target("match=lock:*")}, advice: "it accepts writes again after a save: redis-cli",
			do: func(reportedFinding) {
				must.Succeed(t, os.Remove(taken))
				save("ok")
			},
		},
		{rule: "writes-refused", on: "backend redis", target: []string{full.target("match=lock:*")}, advice: "or raise maxmemory", do: func(reportedFinding) { full.do(t, 0, "CONFIG SET maxmemory 0") }},
	} {
		carryOut(t, []trouble{tr})
	}
}

// The advised sweep first shows the leftover directories, then deletes them.
func TestAdvisedSweepDeletesLeftoverDirectories(t *testing.T) {
	t.Parallel()
	servertest.Slow(t)
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	w := &brokenServer{t: t, addr: server.Addr}
	kept := w.session()
	root := w.create(kept, "/orders", "", 0)
	for i := range 110 {
		dir := w.create(kept, fmt.Sprintf("%s/%d", root, i), "", 0)
		node := w.create(kept, dir+"/x", "", 0)
		must.Succeed(t, kept.Delete(node, -1))
	}
	w.queue(w.create(kept, root+"/used", "", 0), w.session())
	env := home(t)
	days := func(args ...string) outcome { // two days later
		var stdout, stderr output
		later := writingTo(&stdout, &stderr, env)
		later.Now = func() time.Time { return time.Now().Add(48 * time.Hour) }
		code := Main(t.Context(), args, later)
		return outcome{code, stdout.String(), stderr.String()}
	}
	carryOut(t, []trouble{{
		rule: "empty-locks", on: "backend zk", target: []string{"zk://" + server.Addr + root}, advice: "see which of them have been idle for a day: lockscope sweep",
		do: func(f reportedFinding) {
			words := wordsOf(t, commandOf(f.Steps))
			if got := days(words...); got.code != 0 || !strings.Contains(got.stdout+got.stderr, "110 directories of 113 znodes") {
				t.Fatalf("%v: %+v", words, got)
			}
			words = append(slices.DeleteFunc(words, func(w string) bool { return w == "--dry-run" }), "--yes")
			if got := days(words...); got.code != 0 {
				t.Fatalf("%v: %+v", words, got)
			}
		},
	}})
	if children, _, err := kept.Children(root); err != nil || len(children) != 1 {
		t.Errorf("left: %v, %v", children, err)
	}
}

func TestCorrectedClockClearsTheFinding(t *testing.T) {
	t.Parallel()
	server, clock := servertest.StartRedisWithClock(t)
	clock.Step(t, time.Minute)
	carryOut(t, []trouble{{
		rule: "clock-skew", on: "backend redis", target: []string{"redis://" + server.Addr}, advice: "chronyc tracking",
		do: func(reportedFinding) { clock.Step(t, -time.Minute) },
	}})
}
