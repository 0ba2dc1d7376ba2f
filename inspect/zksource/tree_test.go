package zksource

import (
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestAdoptTellsWhatCameAndWent(t *testing.T) {
	t.Parallel()
	d := &dir{}
	stat := &zk.Stat{Czxid: 1, NumChildren: 3}
	if added, removed := d.adopt([]string{"c", "a", "b"}, stat, noon); !slices.Equal(added, []string{"a", "b", "c"}) || removed != nil {
		t.Fatalf("%v %v", added, removed)
	}
	d.keep("a", []byte("x"), &zk.Stat{EphemeralOwner: 7}, false)
	d.keep("b", []byte("y"), &zk.Stat{EphemeralOwner: 7}, false)
	added, removed := d.adopt([]string{"d", "b"}, stat, noon)
	if !slices.Equal(added, []string{"d"}) || !slices.Equal(removed, []string{"a", "c"}) {
		t.Fatalf("%v %v", added, removed)
	}
	if !d.has("b") || d.has("a") || d.has("d") {
		t.Errorf("nodes %v of %v", d.nodes, d.names)
	}
	d.adopt([]string{"b"}, &zk.Stat{Czxid: 2}, noon)
	if d.has("b") {
		t.Error("a directory that was made again keeps what its old children were")
	}
}

func TestJudgeKeepsAFreeLockAndTellsChangesOnly(t *testing.T) {
	t.Parallel()
	id := inspect.ID{Backend: "zk", Path: "/l"}
	d := &dir{}
	d.adopt([]string{"item-0000000001"}, &zk.Stat{Czxid: 1}, noon)
	d.keep("item-0000000001", nil, &zk.Stat{}, false)
	if l, _ := d.judge(id, false, noon, nil); l != nil {
		t.Fatalf("persistent nodes are no lock: %+v", l)
	}
	d.adopt([]string{"lock-0000000002"}, &zk.Stat{Czxid: 1}, noon)
	d.keep("lock-0000000002", nil, &zk.Stat{EphemeralOwner: 7}, false)
	if l, changed := d.judge(id, false, noon, nil); l == nil || !changed || l.State != inspect.StateHeld {
		t.Fatalf("%+v %v", l, changed)
	}
	d.adopt(d.names, &zk.Stat{Czxid: 1}, noon.Add(time.Second))
	if _, changed := d.judge(id, false, noon, nil); changed {
		t.Error("read again is no change")
	}
	d.adopt(nil, &zk.Stat{Czxid: 1}, noon)
	if l, changed := d.judge(id, false, noon, nil); !changed || l.State != inspect.StateFree || l.Recipe != "sequential" {
		t.Errorf("%+v %v", l, changed)
	}
}

func TestBucketAllowsABurstAndThenItsRate(t *testing.T) {
	t.Parallel()
	b := newBucket(4, 4)
	passed := 0
	for ms := range 3001 {
		if b.take(noon.Add(time.Duration(ms)*time.Millisecond)) == 0 {
			passed++
		}
	}
	if passed != 4+12 {
		t.Errorf("%d in 3 s", passed)
	}
	if wait := b.take(noon.Add(3001 * time.Millisecond)); wait <= 0 || wait > 250*time.Millisecond {
		t.Errorf("wait %v", wait)
	}
}

func TestPathsUnderAChroot(t *testing.T) {
	t.Parallel()
	cfg := Config{Chroot: "/app/", Roots: []string{"locks"}}.withDefaults()
	if got := cfg.onServer("/locks"); got != "/app/locks" || cfg.Roots[0] != "/locks" {
		t.Errorf("%q %v", got, cfg.Roots)
	}
	for full, want := range map[string]string{"/app": "/", "/app/locks/a": "/locks/a", "/application": "", "/other": ""} {
		if got, ok := cfg.shown(full); ok != (want != "") || ok && got != want {
			t.Errorf("shown(%q) = %q, %v", full, got, ok)
		}
	}
}

func TestAContenderIsShownWhenItWasRead(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{})
	d := &dir{path: "/l", phase: listable}
	r.dirs["/l"] = d
	list := func(names ...string) {
		r.listed(d, result{job: job{kind: jobList, dir: d}, at: noon, names: names, stat: &zk.Stat{Czxid: 1}})
	}
	get := func(name string, session int64) {
		r.got(d, result{job: job{kind: jobGet, dir: d, name: name}, stat: &zk.Stat{EphemeralOwner: session, Czxid: session}})
	}
	list("x-0000000001", "x-0000000002")
	get("x-0000000002", 2)
	if r.puts["/l"] != nil {
		t.Fatalf("reported before the holder was read: %+v", r.puts["/l"])
	}
	get("x-0000000001", 1)
	list("x-0000000002", "x-0000000003")
	l := r.puts["/l"]
	if l == nil || l.State != inspect.StateHeld || l.Holders[0].Czxid != 2 {
		t.Fatalf("the handoff is reported at once: %+v", l)
	}
	get("x-0000000003", 3)
	if l = r.puts["/l"]; len(l.Waiters) != 1 || l.Waiters[0].Owner.Session != 3 {
		t.Fatalf("and then the new waiter: %+v", l)
	}
	list("x-0000000004")
	if r.puts["/l"] != l {
		t.Errorf("nobody known is left, and it is not free either: %+v", r.puts["/l"])
	}
	get("x-0000000004", 4)
	if l = r.puts["/l"]; l.State != inspect.StateHeld || l.Holders[0].Owner.Session != 4 {
		t.Errorf("%+v", l)
	}
}

func TestBudgetsAreHalvedWhileTheServersAnswerSlowly(t *testing.T) {
	t.Parallel()
	q := newQueue(Config{Budget: Budget{Discovering: 100, Steady: 10}})
	wait := func() time.Duration {
		at := noon.Add(time.Hour)
		for q.discovering.take(at) == 0 { // what is left
		}
		return q.discovering.take(at)
	}
	usual := wait()
	for range 64 {
		q.answered(2 * time.Millisecond)
	}
	for range 64 {
		q.answered(20 * time.Millisecond)
	}
	if slow := wait(); slow < 19*time.Millisecond || usual > 11*time.Millisecond {
		t.Errorf("waits %v, usually %v", slow, usual)
	}
}

// The backend has the quickest of our last requests.
func TestQuickestRequestsAreReported(t *testing.T) {
	t.Parallel()
	r := testRun(t, Config{})
	for range 64 {
		r.queue.answered(5 * time.Millisecond)
	}
	for range 64 {
		r.queue.answered(7 * time.Millisecond)
	}
	if c := r.describe().Cost; c.Quickest != 7*time.Millisecond || c.StartQuickest != 5*time.Millisecond {
		t.Errorf("%v, at the start %v", c.Quickest, c.StartQuickest)
	}
}
