package zksource_test

import (
	"maps"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// wild builds directories as other programs leave them, below one root.
type wild struct {
	t    *testing.T
	zks  *servertest.ZooKeeper
	root string
}

func newWild(t *testing.T, zks *servertest.ZooKeeper) *wild {
	t.Helper()
	w := &wild{t, zks, servertest.UniquePath(t)}
	create(t, w.client(), w.root, "", 0)
	return w
}

// client pings every 3 s. A waiter may be about to set its watch until its first ping after queueing.
func (w *wild) client() *zk.Conn { return clientFor(w.t, w.zks, 9*time.Second) }

// place creates a directory and its parents.
func (w *wild) place(c *zk.Conn, name string) string {
	w.t.Helper()
	p := path.Join(w.root, name)
	if there, _, err := c.Exists(p); err != nil || there {
		return p
	}
	if dir := path.Dir(name); dir != "." {
		w.place(c, dir)
	}
	return create(w.t, c, p, "", 0)
}

// queue creates a queue with one client per prefix. watches sets the watch of client i.
func (w *wild) queue(name string, watches func(c *zk.Conn, i int, nodes []string), prefixes ...string) {
	w.t.Helper()
	var nodes []string
	for i, prefix := range prefixes {
		c := w.client()
		dir := w.place(c, name)
		nodes = append(nodes, create(w.t, c, dir+"/"+prefix, "", contender))
		watches(c, i, nodes)
	}
}

func watchNode(t *testing.T, c *zk.Conn, p string) {
	t.Helper()
	if _, _, _, err := c.ExistsW(p); err != nil {
		t.Fatal(err)
	}
}

// found reads all locks below the root and returns their findings as "RULE SEVERITY".
func (w *wild) found() (map[string][]string, *inspect.Snapshot) {
	w.t.Helper()
	s := observe(w.t, zksource.Config{Servers: []string{w.zks.Addr}, Admin: []string{w.zks.Admin}, Roots: []string{w.root}}, finding.Rules()...)
	found := map[string][]string{}
	for l := range s.Locks() {
		list := []string{}
		for _, f := range l.Findings {
			list = append(list, f.Rule+" "+string(f.Severity))
		}
		slices.Sort(list)
		found[l.ID.Path[min(len(w.root)+1, len(l.ID.Path)):]] = list
	}
	return found, s
}

// judged waits for exactly these locks and findings. A client's ping may take a moment.
func (w *wild) judged(want map[string][]string) *inspect.Snapshot {
	w.t.Helper()
	for deadline := time.Now().Add(sourcetest.Limit); ; {
		found, s := w.found()
		if maps.EqualFunc(found, want, slices.Equal) {
			return s
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("found %v\nwant  %v", found, want)
		}
	}
}

func (w *wild) lock(s *inspect.Snapshot, name string) *inspect.Lock {
	w.t.Helper()
	l := s.Lock(inspect.ID{Backend: "zk", Path: path.Join(w.root, name)})
	if l == nil {
		w.t.Fatalf("%s is not a lock", name)
	}
	return l
}

const curatorLock = "_c_" + uuid + "-lock-"

// The watches decide the order, whatever the nodes are named.
func TestWatchesOutrankNames(t *testing.T) {
	t.Parallel()
	w := newWild(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	before := func(c *zk.Conn, i int, nodes []string) {
		if i > 0 {
			watchNode(t, c, nodes[i-1])
		}
	}
	nobody := func(*zk.Conn, int, []string) {}
	w.queue("holder-watched", func(c *zk.Conn, i int, nodes []string) {
		if i == 3 {
			watchNode(t, c, nodes[0])
		} else {
			before(c, i, nodes)
		}
	}, slices.Repeat([]string{curatorLock}, 4)...)
	w.queue("healthy", before, slices.Repeat([]string{curatorLock}, 4)...)

	holder, leaky := w.client(), w.client()
	create(t, holder, w.place(holder, "leaked")+"/"+curatorLock, "", contender)
	for range 6 {
		create(t, leaky, w.root+"/leaked/"+curatorLock, "", contender)
	}

	w.queue("lost", func(c *zk.Conn, i int, nodes []string) {
		if i == 2 {
			watchNode(t, c, nodes[1])
			remove(t, c, nodes[1])
			watchNode(t, c, nodes[1]) // an exists watch on the deleted node
		}
	}, "lock-", "lock-", "lock-")
	w.queue("registry", nobody, "lock-", "lock-", "lock-")
	w.queue("left", func(c *zk.Conn, i int, _ []string) {
		if i == 0 {
			watchNode(t, c, w.root+"/left/member-0000000007") // a later member that has left
		}
	}, "member-", "member-")

	w.queue("readers", before, "read-", "write-", "write-")
	w.queue("candidates", func(c *zk.Conn, _ int, _ []string) { // each watches the directory, which the table does not show
		if _, _, _, err := c.ChildrenW(w.root + "/candidates"); err != nil {
			t.Fatal(err)
		}
	}, "n_", "n_", "n_")
	w.queue("candidates-lost", func(c *zk.Conn, i int, nodes []string) {
		if i == 1 {
			watchNode(t, c, nodes[0])
		}
	}, "n_", "n_", "n_")

	s := w.judged(map[string][]string{
		"holder-watched": {"missing-watch warning"}, "healthy": {},
		"leaked": append(slices.Repeat([]string{"missing-watch warning"}, 6), "self-wait warning"),
		"lost":   {"lost-wakeup warning", "missing-watch warning"}, "registry": {}, "left": {},
		"readers": {}, "candidates": {}, "candidates-lost": {"missing-watch warning"},
	})
	if l := w.lock(s, "holder-watched"); l.Findings[0].Subject.Contender != l.Waiters[2].Name {
		t.Errorf("the finding is about %s", l.Findings[0].Subject.Contender)
	}
	for name, want := range map[string]string{"lost": "likely", "registry": "possible", "left": "possible", "readers": "likely"} {
		if l := w.lock(s, name); string(l.Confidence) != want {
			t.Errorf("%s is %s", name, l.Confidence)
		}
	}
}

// kazoo can be configured with other libraries' names, and then queues behind them.
func TestKazooQueuesBehindGoZooKeeper(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		w := newWild(t, zks)
		c := w.client()
		for _, name := range []string{"together", "apart"} {
			w.place(c, name)
			l := zk.NewLock(c, w.root+"/"+name, zk.WorldACL(zk.PermAll))
			must.Succeed(t, l.Lock())
		}
		peer := servertest.StartKazooLocks(t, zks.Addr)
		peer.Send(t, "mixing", "a", w.root+"/together")
		peer.Send(t, "lock", "b", w.root+"/apart")
		peer.Expect(t, "acquired lock b "+w.root+"/apart")
		w.judged(map[string][]string{"together": {}, "apart": {"missing-watch warning", "mixed-recipes critical"}})
	})
}
