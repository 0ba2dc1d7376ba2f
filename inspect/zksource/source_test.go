package zksource_test

import (
	"context"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestEveryViewShowsTheSameLocks(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		s.queue("/l", "first", "second")
		s.dirs("/queue")
		s.create("/queue/item-", "work", zk.FlagSequence)
		check := func(v *sourcetest.View, root string) {
			t.Helper()
			l := demand(t, v.Locks[root+"/l"], "kazoo mutex contended 1+1")
			must.Equal(t, l.Waiters[0].Owner.Label, "second", "the waiter's label")
			must.True(t, l.Holders[0].Owner.Session != 0 && !l.Holders[0].Since.IsZero(), "holder", l.Holders[0])
			must.Equal(t, len(v.Locks), 1, "locks", v.Describe())
		}
		v := s.watch()
		v.Peek(func() { check(v.View, s.root) })
		one := s.once()
		check(one, s.root)
		must.Equal(t, one.Backend.Mode, inspect.ModeOnce)
		must.Equal(t, one.Backend.State, inspect.Connected)
		must.Equal(t, one.Backend.Cost.Watches, 0, "watches")
		check(once(t, zksource.Config{Servers: s.cfg.Servers, Chroot: s.root}), "")
	})
}

func TestWatchReportsChanges(t *testing.T) {
	eachServer(t, func(_ *testing.T, s *scene) {
		v, lock := s.watch(), s.root+"/new"
		first := s.queue("/new", "a")[0]
		v.awaitListed(lock)
		second := s.join("/new", "b")
		v.awaitState(lock, inspect.StateContended)
		s.remove(first)
		v.awaitHolder(lock, "b")
		s.remove(second)
		v.awaitBrief(lock, "kazoo mutex free 0+0")
		s.remove(lock)
		v.awaitUnlisted(lock)

		s.dirs("/new")
		s.queue("/new/sub", "c")
		v.awaitListed(lock + "/sub")
	})
}

func TestOnlyTheNamedDirectoryIsRead(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		nodes := s.queue("/l", "a", "b")
		s.dirs("/l/free")
		s.lookAfter(nodes[0])
		s.cfg.Admin = []string{s.zks.Admin}
		v := s.named("/l")
		l := demand(t, v.Locks[s.root+"/l"], "kazoo mutex contended 1+1")
		must.Equal(t, len(v.Locks), 1, v.Describe())
		must.Equal(t, l.Node(&l.Waiters[0]), nodes[1], "waiter")
		session := v.Sessions[l.Holders[0].Owner.Session]
		must.Equal(t, session.Server, s.zks.Addr, "the holder's server")
		must.True(t, session.Client != "" && session.Timeout != 0, "the holder's session", session)
		must.True(t, v.All, "sessions are missing", v.Sessions)
		must.Same(t, v.Watches.Sessions[nodes[0]], []int64{s.conn.SessionID()}, "watches on the holder")
		must.Equal(t, v.Backend.Servers[0].Role, "standalone", "role")
		s.cfg.Admin = append(s.cfg.Admin, "http://127.0.0.1:1")
		must.True(t, !s.named("/l").All, "complete sessions although an AdminServer does not answer")
		l = s.named("/l/free").Locks[s.root+"/l/free"]
		must.True(t, l != nil && l.State == inspect.StateFree, "a named directory without contenders", l)
		must.Equal(t, len(s.named("/l/none").Locks), 0, "locks in a directory that does not exist")
	})
}

func TestHotLockReadsAreBounded(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	s.dirs("/hot")
	v := s.watch()
	start := time.Now()
	changes := 0
	last := s.join("/hot", "0")
	for time.Since(start) < 2*time.Second {
		s.remove(last)
		changes += 2
		last = s.join("/hot", fmt.Sprint(changes))
	}
	v.awaitLock("/hot", "the last state", func(l *inspect.Lock) bool {
		return len(l.Holders) == 1 && l.Node(&l.Holders[0]) == last && l.Holders[0].Owner.Label != ""
	})
	var cost uint64
	v.Await("the cost", func() bool { cost = v.Backend.Cost.Requests; return cost > 4 })
	took := time.Since(start).Seconds()
	must.True(t, float64(cost) <= 20+2*4*(took+1), changes, "changes in", took, "s cost", cost, "requests")
}

func TestUnreachableServerIsDown(t *testing.T) {
	t.Parallel()
	cfg := zksource.Config{Backend: "zk", Servers: []string{"127.0.0.1:1"}}
	b := once(t, cfg).Backend
	must.Equal(t, b.State, inspect.Down, b.Error)
	must.True(t, b.Error != "" && b.Servers[0].State == inspect.ServerDown, "backend", b)
	watching{View: sourcetest.Watch(t, zksource.New(cfg)), t: t}.awaitConnection(inspect.Down)
}

func TestOverfullDirectoryIsNotListed(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	s.queue("/big", "", "", "", "", "", "")
	s.queue("/small", "a")
	s.cfg.Budget = zksource.Budget{Children: 5}
	v := s.once()
	must.True(t, len(v.Locks) == 1 && v.Backend.Unknown(inspect.AspectLocks), "too many children", v.Describe())
}

func TestFocusReadsLongQueuesInFull(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{WithoutMultiRead: true})
	s.dirs("/long")
	for i := range 100 {
		s.join("/long", fmt.Sprint(i))
	}
	v := s.watch()
	var l *inspect.Lock
	v.Peek(func() { l = v.Locks["/long"] })
	must.Equal(t, len(l.Waiters), 99, "waiters")
	must.True(t, l.Waiters[0].Owner.Label == "1" && l.Waiters[98].Owner.Label == "", "counted only", l.Waiters)
	v.focus("/long")
	v.awaitLock("/long", "the queue in full", func(l *inspect.Lock) bool { return l.Waiters[98].Owner.Label == "99" })
}

func TestDirectoriesNamedLikeContendersAreWalked(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		for i := range 100 {
			s.dirs(fmt.Sprint("/user-", 1000000000+i))
		}
		v := s.watch()
		for _, dir := range []string{"/user-1000000003", "/user-1000000090"} {
			s.join(dir, "a")
			v.awaitListed(s.root + dir)
		}
		v.Peek(func() { must.Equal(t, v.Locks[s.root], nil, "locks", v.Describe()) })
		one := s.once()
		must.Equal(t, len(one.Locks), 2, "locks in one pass", one.Describe())
	})
}

// replace deletes nodes and creates others, by their full paths, in one transaction.
func (s *scene) replace(old []string, created ...shapeNode) {
	s.t.Helper()
	var changes []any
	for _, node := range old {
		changes = append(changes, &zk.DeleteRequest{Path: node, Version: -1})
	}
	for _, n := range created {
		changes = append(changes, &zk.CreateRequest{Path: n.path, Data: []byte(n.data), Flags: n.flags, Acl: everyone})
	}
	must.Have(s.conn.Multi(changes...))(s.t)
}

// If an ephemeral node replaces a deleted directory before the parent is listed, the parent's list
// looks unchanged.
func TestEphemeralReplacingDirectoryEndsLock(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		lock := s.root + "/lock"
		holder := s.queue("/lock", "a")[0]
		v := s.watchHastily()
		v.awaitListed(lock)
		s.replace([]string{holder, lock}, shapeNode{lock, "", zk.FlagEphemeral})
		v.Await("the old queue gone", func() bool { // the new node itself may be a lock
			l := v.Locks[lock]
			return l == nil || len(l.Holders) == 0 || l.Holders[0].Name.Raw() != path.Base(holder)
		})
	})
}

func TestDirectoryReplacingEphemeralIsFound(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		for _, members := range [][]string{{"/lone/member"}, {"/two/member", "/two/other"}} {
			s.dirs(path.Dir(members[0]))
			for _, m := range members {
				s.create(m, "a", zk.FlagEphemeral)
			}
			lock := s.root + members[0]
			v := s.watchHastily()
			if len(members) == 1 {
				v.awaitListed(lock)
			} else {
				v.awaitUnlisted(lock)
			}
			s.replace([]string{lock}, shapeNode{lock, "", 0}, shapeNode{lock + "/" + guid + "__lock__", "", contender})
			v.awaitBrief(lock, "kazoo mutex held 1+0")
		}
	})
}

func TestRecreatedNodeIsReadAgain(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		node := s.queue("/l", "first")[0]
		v := s.watchHastily()
		v.awaitHolder(s.root+"/l", "first")
		for i := range 5 {
			label := fmt.Sprint("again ", i)
			s.replace([]string{node}, shapeNode{node, label, zk.FlagEphemeral})
			v.awaitHolder(s.root+"/l", label)
		}
	})
}

// direct is a Transport that uses a plain client.
type direct struct{ *zk.Conn }

func (d direct) Exists(_ context.Context, p string) (*zk.Stat, error) {
	ok, stat, err := d.Conn.Exists(p)
	if err == nil && !ok {
		err = zk.ErrNoNode
	}
	return stat, err
}

func (d direct) Children(_ context.Context, p string) ([]string, *zk.Stat, error) {
	return d.Conn.Children(p)
}

func (d direct) Get(_ context.Context, p string) ([]byte, *zk.Stat, error) { return d.Conn.Get(p) }

// A node is the same lock, or no lock, whether it is listed, requested by name, used as a root or
// acted on.
func TestEphemeralLockIsConsistentAcrossViews(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	const base64 = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
	for name, tt := range map[string]struct {
		siblings []shapeNode
		shut     bool // the directory may not be listed
		locked   bool
	}{
		"alone":                                 {locked: true},
		"next to a directory":                   {siblings: []shapeNode{{"/config", "", 0}, {"/config/x", "", zk.FlagEphemeral}}, locked: true},
		"one of two":                            {siblings: []shapeNode{{"/other", "", zk.FlagEphemeral}}},
		"next to a queue":                       {siblings: []shapeNode{{"/" + guid + "__lock__", "", contender}}},
		"next to nodes of an old queue":         {siblings: []shapeNode{{"/item-", "", zk.FlagSequence}}, locked: true},
		"in an unreadable directory":            {shut: true, locked: true},
		"one of two in an unreadable directory": {siblings: []shapeNode{{"/other", base64, zk.FlagEphemeral}}, shut: true, locked: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := inDirectory(t, zks)
			node := s.create("/leader", "node-1", zk.FlagEphemeral)
			for _, n := range tt.siblings {
				s.create(n.path, n.data, n.flags)
			}
			views := map[string]map[string]*inspect.Lock{}
			if tt.shut {
				s.allow("", unreadable)
			} else {
				views["everything"] = s.once().Locks
			}
			views["named"] = s.named("/leader").Locks
			views["root"] = once(t, zksource.Config{Servers: s.cfg.Servers, Roots: []string{node}}).Locks
			one := zksource.Config{Servers: s.cfg.Servers, Only: node}
			read := must.Have(zksource.ReadLock(t.Context(), direct{s.conn}, one))(t)
			views["to act on"] = map[string]*inspect.Lock{}
			if read.Lock.State != inspect.StateFree {
				views["to act on"][node] = read.Lock
			}
			for who, locks := range views {
				l := locks[node]
				must.Equal(t, l != nil, tt.locked, who, l)
				sure := recipe.Possible
				if who == "named" || who == "to act on" {
					sure = recipe.Likely
				}
				if l != nil {
					must.Equal(t, fmt.Sprint(l.Recipe, " ", l.Confidence), fmt.Sprint("ephemeral ", sure), who)
					must.Equal(t, len(l.Holders), 1, who, "holders")
				}
				delete(locks, node)
				must.True(t, who == "everything" || len(locks) == 0, who, "unexpected locks", locks)
			}
		})
	}
}

// A node requested by name is followed through its deletion and its next creation.
func TestANamedNodeIsFollowed(t *testing.T) {
	eachServer(t, func(_ *testing.T, s *scene) {
		node := s.create("/leader", "node-1", zk.FlagEphemeral)
		s.cfg.Only, s.cfg.Roots = node, nil
		v := s.watch()
		v.awaitState(node, inspect.StateHeld)
		s.remove(node)
		v.Await("gone", func() bool { return v.Locks[node] == nil || v.Locks[node].State == inspect.StateFree })
		s.create("/leader", "node-2", zk.FlagEphemeral)
		v.awaitHolder(node, "node-2")
	})
}
