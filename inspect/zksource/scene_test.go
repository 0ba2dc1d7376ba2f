package zksource_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestMain(m *testing.M) { servertest.Main(m) }

const contender = zk.FlagEphemeral | zk.FlagSequence

const (
	guid  = "0123456789abcdef0123456789abcdef"
	guid2 = "fedcba9876543210fedcba9876543210"
	uuid  = "01234567-89ab-cdef-0123-456789abcdef"
)

// scene is a server with a plain client. Its nodes and locks are below a root, which is empty on a
// server of the test's own.
type scene struct {
	t    *testing.T
	zks  *servertest.ZooKeeper
	conn *zk.Conn
	root string
	cfg  zksource.Config // of a source that reads everything below the root
}

// eachServer runs a test in a directory of its own, on an embedded and a real server.
func eachServer(t *testing.T, test func(t *testing.T, s *scene)) {
	t.Helper()
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) { test(t, inDirectory(t, zks)) })
}

// onEmbedded runs the test in parallel, on an embedded server of its own.
func onEmbedded(t *testing.T, cfg zkserver.Config) *scene {
	t.Helper()
	t.Parallel()
	return onServer(t, servertest.StartEmbeddedZooKeeper(t, cfg))
}

// onReal runs the test in parallel, on a real server of its own.
func onReal(t *testing.T, lines ...string) *scene {
	t.Helper()
	t.Parallel()
	return onServer(t, servertest.StartZooKeeper(t, lines...))
}

// onServer is a scene at the root of a server.
func onServer(t *testing.T, zks *servertest.ZooKeeper) *scene {
	t.Helper()
	conn := servertest.ConnectZooKeeper(t, zks.Addr, 10*time.Second)
	return &scene{t: t, zks: zks, conn: conn, cfg: zksource.Config{Backend: "zk", Servers: []string{zks.Addr}}}
}

// inDirectory is a scene in a directory of its own.
func inDirectory(t *testing.T, zks *servertest.ZooKeeper) *scene {
	t.Helper()
	s := onServer(t, zks)
	s.root = servertest.UniquePath(t)
	s.cfg.Roots = []string{s.root}
	s.dirs("")
	return s
}

// as is the scene with another client, that has this session timeout. After a pause of 2/3 of it, a
// client reconnects.
func (s *scene) as(timeout time.Duration) *scene {
	s.t.Helper()
	other := *s
	other.conn = servertest.ConnectZooKeeper(s.t, s.zks.Addr, timeout)
	return &other
}

// create creates a node below the root and returns its full path.
func (s *scene) create(path, data string, flags int32) string {
	s.t.Helper()
	return must.Have(s.conn.Create(s.root+path, []byte(data), flags, everyone))(s.t)
}

func (s *scene) dirs(paths ...string) {
	s.t.Helper()
	for _, p := range paths {
		s.create(p, "", 0)
	}
}

// queue creates a directory with a kazoo contender for each label.
func (s *scene) queue(dir string, labels ...string) (nodes []string) {
	s.t.Helper()
	s.dirs(dir)
	for _, label := range labels {
		nodes = append(nodes, s.join(dir, label))
	}
	return nodes
}

// join adds a kazoo contender to a directory.
func (s *scene) join(dir, label string) string {
	s.t.Helper()
	return s.create(dir+"/"+guid+"__lock__", label, contender)
}

// remove deletes a node by its full path.
func (s *scene) remove(node string) {
	s.t.Helper()
	must.Succeed(s.t, s.conn.Delete(node, -1))
}

// write sets the data of a node below the root.
func (s *scene) write(path, data string) {
	s.t.Helper()
	must.Have(s.conn.Set(s.root+path, []byte(data), -1))(s.t)
}

// allow sets the access list of a node below the root.
func (s *scene) allow(path string, acl []zk.ACL) {
	s.t.Helper()
	must.Have(s.conn.SetACL(s.root+path, acl, -1))(s.t)
}

// lookAfter sets a watch on a node by its full path, as a waiter does.
func (s *scene) lookAfter(node string) {
	s.t.Helper()
	_, _, _, err := s.conn.ExistsW(node)
	must.Succeed(s.t, err)
}

// contended creates a lock with a holder and a waiter, and returns it as read.
func (s *scene) contended(dir string) *inspect.Lock {
	s.t.Helper()
	held, waiter := s.queue(dir, "a")[0], s.as(10*time.Second)
	waiter.create(dir+"/"+guid2+"__lock__", "b", contender)
	waiter.lookAfter(held)
	cfg := s.cfg
	cfg.Admin, cfg.Roots = []string{s.zks.Admin}, []string{s.root + dir}
	_, l := look(s.t, cfg)
	demand(s.t, l, "kazoo mutex contended 1+1")
	must.Equal(s.t, l.Waiters[0].Watch, inspect.Confirmed, "watch")
	return l
}

func (s *scene) id(path string) inspect.ID { return inspect.ID{Backend: "zk", Path: s.root + path} }

// once runs a source for one pass.
func once(t *testing.T, cfg zksource.Config) *sourcetest.View {
	t.Helper()
	cfg.Backend, cfg.Once = "zk", true
	return sourcetest.Once(t, zksource.New(cfg))
}

func (s *scene) once() *sourcetest.View {
	s.t.Helper()
	return once(s.t, s.cfg)
}

// named reads one lock for one pass.
func (s *scene) named(path string) *sourcetest.View {
	s.t.Helper()
	cfg := s.cfg
	cfg.Only, cfg.Roots = s.root+path, nil
	return once(s.t, cfg)
}

// observe runs an Observer with these rules for one pass.
func observe(t *testing.T, cfg zksource.Config, rules ...inspect.Rule) *inspect.Snapshot {
	t.Helper()
	cfg.Backend, cfg.Once = "zk", true
	ctx, cancel := context.WithTimeout(t.Context(), sourcetest.Limit)
	defer cancel()
	o := inspect.NewObserver(time.Now, zksource.New(cfg))
	o.Diagnose(rules, time.Hour)
	must.Succeed(t, o.Run(ctx))
	return o.Snapshot()
}

// look reads the backend and its first lock with all findings.
func look(t *testing.T, cfg zksource.Config) (*inspect.Backend, *inspect.Lock) {
	t.Helper()
	s := observe(t, cfg, finding.Rules()...)
	for l := range s.Locks() {
		return s.Backends[0], l
	}
	return s.Backends[0], nil
}

// brief is a lock in words, with its numbers of holders and waiters: "kazoo semaphore held 2+0 of 2".
func brief(l *inspect.Lock) string {
	if l == nil {
		return "none"
	}
	words := fmt.Sprintf("%s %s %s %d+%d", l.Recipe, l.Kind, l.State, len(l.Holders), len(l.Waiters))
	if l.Kind == inspect.KindSemaphore {
		words += fmt.Sprint(" of ", l.Limit)
	}
	return words
}

// demand returns a lock that must be like that, see brief.
func demand(t *testing.T, l *inspect.Lock, want string) *inspect.Lock {
	t.Helper()
	if brief(l) != want {
		t.Fatalf("the lock is %s, want %s: %+v", brief(l), want, l)
	}
	return l
}

// watching is a source that runs until the test ends, with its updates.
type watching struct {
	*sourcetest.View
	*zksource.Source
	t *testing.T
}

// run starts a source and waits for its first pass.
func run(t *testing.T, source *zksource.Source) watching {
	t.Helper()
	v := watching{sourcetest.Watch(t, source), source, t}
	v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
	return v
}

func (s *scene) watch() watching {
	s.t.Helper()
	return run(s.t, zksource.New(s.cfg))
}

// watchHastily is watch with short intervals.
func (s *scene) watchHastily() watching {
	s.t.Helper()
	return run(s.t, zksource.NewHasty(s.cfg))
}

func (v watching) focus(path string) { v.Focus([]inspect.ID{{Backend: "zk", Path: path}}) }

// awaitLock waits until a lock is shown like that.
func (v watching) awaitLock(path, what string, is func(l *inspect.Lock) bool) {
	v.t.Helper()
	v.Await(what, func() bool { return v.Locks[path] != nil && is(v.Locks[path]) })
}

func (v watching) awaitState(path string, want inspect.State) {
	v.t.Helper()
	v.awaitLock(path, path+" is "+string(want), func(l *inspect.Lock) bool { return l.State == want })
}

// awaitBrief waits until a lock is shown like that, see brief.
func (v watching) awaitBrief(path, want string) {
	v.t.Helper()
	v.Await(path+" is "+want, func() bool { return brief(v.Locks[path]) == want })
}

// awaitShown waits until a path is shown as a lock, or no longer.
func (v watching) awaitListed(path string) {
	v.t.Helper()
	v.Await(path+" is a lock", func() bool { return v.Locks[path] != nil })
}

func (v watching) awaitUnlisted(path string) {
	v.t.Helper()
	v.Await(path+" is no lock", func() bool { return v.Locks[path] == nil })
}

func (v watching) awaitWaiters(path string, n int) {
	v.t.Helper()
	v.awaitLock(path, "other waiters", func(l *inspect.Lock) bool { return len(l.Waiters) == n })
}

// awaitHolder waits until a lock has no contender except this holder.
func (v watching) awaitHolder(path, label string) {
	v.t.Helper()
	v.awaitLock(path, path+" is held by "+label, func(l *inspect.Lock) bool {
		return l.State == inspect.StateHeld && string(l.Holders[0].Owner.Label) == label
	})
}

// awaitConnection waits until the backend is in a state.
func (v watching) awaitConnection(want inspect.BackendState) {
	v.t.Helper()
	v.Await(string(want), func() bool { return v.Backend != nil && v.Backend.State == want })
}

// loseSession expires the source's session on an embedded server until it notices. The locks stay listed.
func (v watching) loseSession(s *scene) {
	v.t.Helper()
	var locks int
	v.Peek(func() { locks = len(v.Locks) })
	v.Await("down, with the locks listed", func() bool {
		for _, id := range s.zks.Embedded.Sessions() {
			if id != s.conn.SessionID() {
				_ = s.zks.Embedded.ExpireSession(id)
			}
		}
		b := v.Backend
		return b.Lost > 0 && b.State == inspect.Down && b.Error != "" && len(v.Locks) == locks
	})
}

// following is an Observer with its events so far. It runs until the test ends.
type following struct {
	*inspect.Observer
	id     inspect.ID
	events []inspect.Event // of the lock
	all    []inspect.Event // of all locks

	t    *testing.T
	sub  *inspect.Subscription
	seen *inspect.Snapshot
	ctx  context.Context
}

// follow starts an Observer and waits for the first pass.
func (s *scene) follow(path string) *following {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*sourcetest.Limit)
	o := &following{Observer: inspect.NewObserver(time.Now, zksource.New(s.cfg)), id: s.id(path), t: s.t, ctx: ctx}
	o.sub = o.Subscribe()
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		must.Be(s.t, <-done, nil)
	})
	o.await("first pass", func(s *inspect.Snapshot) bool { return len(s.Backends) > 0 && s.Backends[0].FirstPass })
	return o
}

// await reads snapshots and their events until one is as expected.
func (o *following) await(what string, ok func(*inspect.Snapshot) bool) {
	o.t.Helper()
	for o.seen == nil || !ok(o.seen) { // o.Snapshot() may be newer than the events so far
		s, err := o.sub.Next(o.ctx)
		if err != nil {
			o.t.Fatalf("%s: %v; %+v", what, err, o.Snapshot().Lock(o.id))
		}
		o.seen = s
		o.all = append(o.all, s.Events...)
		ours := func(e inspect.Event) bool { return e.Lock == o.id && e.Finding == nil }
		o.events = append(o.events, each.Where(s.Events, ours)...)
	}
}

// awaitLock is await for the lock.
func (o *following) awaitLock(what string, ok func(*inspect.Lock) bool) {
	o.t.Helper()
	o.await(what, func(s *inspect.Snapshot) bool { return s.Lock(o.id) != nil && ok(s.Lock(o.id)) })
}
