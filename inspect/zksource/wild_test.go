package zksource_test

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// wild builds directories as other programs leave them.
type wild struct {
	*scene
	clients map[string]*scene
	nodes   []string // in the order of their creation
	shown   map[string]string
	named   map[string]string
}

func newWild(t *testing.T, zks *servertest.ZooKeeper) *wild {
	t.Helper()
	w := &wild{inDirectory(t, zks), map[string]*scene{}, nil, map[string]string{}, map[string]string{}}
	w.cfg.Admin = []string{zks.Admin}
	return w
}

// client pings every 3 s. A waiter may be about to set its watch until its first ping after queueing.
func (w *wild) client(name string) *scene {
	w.t.Helper()
	if w.clients[name] == nil {
		w.clients[name] = w.as(9 * time.Second)
	}
	return w.clients[name]
}

// place creates a directory and its parents.
func (w *wild) place(dir string) string {
	w.t.Helper()
	if dir == "/" {
		return dir
	}
	there, _, err := w.conn.Exists(w.root + dir)
	must.Succeed(w.t, err)
	if !there {
		w.place(path.Dir(dir))
		w.dirs(dir)
	}
	return dir
}

// step plays a line of testdata/directories.txtar.
func (w *wild) step(line string) {
	w.t.Helper()
	words := append(strings.Fields(line), "")
	who, verb, what, rest := words[0], words[1], words[2], strings.Join(words[2:], " ")
	node := w.root + what
	if n, err := strconv.Atoi(what); err == nil {
		node = w.nodes[n-1]
	}
	switch {
	case who == "=":
		w.shown[verb] = strings.TrimSpace(rest)
	case who == "?":
		w.named[verb] = what
	case verb == "watches":
		w.client(who).lookAfter(node)
	case verb == "lists":
		_, _, _, err := w.client(who).conn.ChildrenW(node)
		must.Succeed(w.t, err)
	case verb == "deletes":
		w.client(who).remove(node)
	default:
		w.place(path.Dir(what))
		w.nodes = append(w.nodes, w.client(who).create(what, words[3], flagsOf(verb)))
	}
}

// verdict is a lock in words: see brief, and its confidence, holder, other nodes and findings.
func verdict(l *inspect.Lock) string {
	labels := map[inspect.Untrusted]string{}
	for _, c := range contenders(l) {
		labels[c.Name] = cmp.Or(c.Owner.Label, c.Name).String()
	}
	words := strings.TrimSpace(brief(l)) + " " + string(l.Confidence)
	if len(l.Holders) > 0 {
		words += ", by " + labels[l.Holders[0].Name]
	}
	if len(l.Aliens) > 0 {
		words += fmt.Sprint(", next to ", len(l.Aliens))
	}
	found := each.Of(l.Findings, func(f inspect.Finding) string {
		return fmt.Sprintf("%s %s of %s", f.Rule, f.Severity, labels[f.Subject.Contender])
	})
	slices.Sort(found)
	return strings.TrimSuffix(words+": "+strings.Join(found, ", "), ": ")
}

// judged waits for exactly these locks, in such words. A client's ping may take a moment.
func (w *wild) judged(words func(l *inspect.Lock) string) {
	w.t.Helper()
	for deadline := time.Now().Add(sourcetest.Limit); ; {
		s, found := observe(w.t, w.cfg, finding.Rules()...), map[string]string{}
		for l := range s.Locks() {
			found[strings.TrimPrefix(l.ID.Path, w.root)] = words(l)
		}
		if maps.Equal(found, w.shown) {
			must.True(w.t, s.Backends[0].Unseen == nil, "unseen", s.Backends[0].Unseen)
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("found %v\nwant  %v", found, w.shown)
		}
	}
}

// The watches decide the order, whatever the nodes are named. Registries, and nodes whose number the
// server has not assigned, are not queues.
func TestDirectoriesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		for _, directory := range must.Have(txtar.ParseFile("testdata/directories.txtar"))(t).Files {
			t.Run(directory.Name, func(t *testing.T) {
				t.Parallel()
				w := newWild(t, zks)
				for line := range strings.Lines(string(directory.Data)) {
					w.step(line)
				}
				w.judged(verdict)
				w.cfg.Admin = nil
				for dir, want := range w.named {
					l := w.scene.named(dir).Locks[w.root+dir]
					must.True(t, l != nil && string(l.State) == want, dir, "requested by name", l)
				}
			})
		}
	})
}

// kazoo can be configured with other libraries' names, and then queues behind them.
func TestKazooQueuesBehindGoZooKeeper(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		w := newWild(t, zks)
		c := w.client("a")
		for _, dir := range []string{"/together", "/apart"} {
			must.Succeed(t, zk.NewLock(c.conn, w.root+w.place(dir), everyone).Lock())
		}
		peer := servertest.StartKazooLocks(t, zks.Addr)
		peer.Send(t, "mixing", "a", w.root+"/together")
		peer.Send(t, "lock", "b", w.root+"/apart")
		peer.Expect(t, "acquired lock b "+w.root+"/apart")
		w.shown = map[string]string{"/together": "", "/apart": "missing-watch warning, mixed-recipes critical"}
		w.judged(func(l *inspect.Lock) string {
			found := each.Of(l.Findings, func(f inspect.Finding) string { return f.Rule + " " + string(f.Severity) })
			return strings.Join(slices.Sorted(slices.Values(found)), ", ")
		})
	})
}
