package zksource_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// After a server restart, clients may reconnect until their sessions expire. Meanwhile, none of
// them counts as gone, and no watch as missing.
func TestReturningClientsAreNotGhosts(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	wire := servertest.StartWire(t, zks.Addr)
	through := &servertest.ZooKeeper{Addr: wire.Addr()}
	holder, waiter := clientFor(t, through, 20*time.Second), clientFor(t, through, 20*time.Second)
	create(t, holder, "/l", "", 0)
	held := create(t, holder, "/l/"+guid+"__lock__", "a", contender)
	create(t, waiter, "/l/"+guid2+"__lock__", "b", contender)
	if _, _, _, err := waiter.GetW(held); err != nil { // as a waiter does
		t.Fatal(err)
	}
	cfg := zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}}
	look := func() (b *inspect.Backend, l *inspect.Lock) {
		b, l = lookWithRules(t, cfg)
		if l == nil || len(l.Waiters) != 1 {
			t.Fatalf("%+v, %+v", b, l)
		}
		for _, f := range l.Findings {
			if f.Rule == "ghost-owner" || f.Rule == "missing-watch" {
				t.Errorf("%+v", f)
			}
		}
		return b, l
	}
	must.Become(t, "the holder is 6 s old", func() bool {
		_, l := look()
		return time.Since(l.Holders[0].Since) > 6*time.Second
	})
	restarted := time.Now()
	zks.Kill(t)
	wire.Stop(servertest.ToServer)
	wire.Reset()
	zks.Restart(t)
	b, l := look()
	if b.DisturbedAt.Before(restarted) || l.Waiters[0].Watch != inspect.Unconfirmed {
		t.Errorf("disturbed at %v, restarted at %v; watch %v", b.DisturbedAt, restarted, l.Waiters[0].Watch)
	}
	if len(l.Holders) != 1 || l.Holders[0].Owner.Client != "" {
		t.Errorf("the holder has reconnected: %+v", l.Holders)
	}
	wire.Heal()
	must.Become(t, "both have reconnected", func() bool {
		_, l := look()
		return l.Holders[0].Owner.Client != "" && l.Waiters[0].Watch == inspect.Confirmed
	})
}

func TestHungServersLockAges(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	create(t, c, "/lock/x-", "a", contender)
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass && v.Locks["/lock"] != nil })
	asOf := func(now time.Time) (at time.Time) {
		v.Peek(func() { at = v.Locks["/lock"].AsOf(v.Backend, now) })
		return at
	}
	if now := time.Now(); !asOf(now).Equal(now) {
		t.Errorf("as of %v", asOf(now))
	}
	hung := time.Now()
	zks.Pause(t)
	v.Await("down", func() bool { return v.Backend.State == inspect.Down })
	if at := asOf(time.Now()); at.After(hung) || hung.Sub(at) > 10*time.Second {
		t.Errorf("as of %v, hung since %v", at, hung)
	}
	zks.Resume(t)
	v.Await("connected again", func() bool { return v.Backend.State == inspect.Connected })
	v.Peek(func() {
		must.True(t, v.Backend.DisturbedAt.After(hung), "disturbed at", v.Backend.DisturbedAt)
	})
}

func TestPolledLockAgesUntilReadAgain(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{WithoutAddWatch: true})
	c := client(t, zks)
	create(t, c, "/l", "", 0)
	create(t, c, "/l/"+guid+"__lock__", "a", contender)
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
	var read time.Time
	v.Await("polled", func() bool {
		l := v.Locks["/l"]
		if l == nil || !l.Polled {
			return false
		}
		read = l.ReadAt
		return true
	})
	v.Await("a later read", func() bool { return v.Locks["/l"].ReadAt.After(read) })
	v.Peek(func() {
		if l := v.Locks["/l"]; !l.AsOf(v.Backend, time.Now()).Equal(l.ReadAt) {
			t.Errorf("as of %v, read at %v", l.AsOf(v.Backend, time.Now()), l.ReadAt)
		}
	})
}

// ensembleLock starts an ensemble with a lock. It returns a client and a configuration too.
func ensembleLock(t *testing.T, cfg servertest.EnsembleConfig) (*servertest.Ensemble, *zk.Conn, zksource.Config) {
	t.Helper()
	e := servertest.StartEnsemble(t, cfg)
	leader := e.Leader(t)
	c := client(t, e.Members[leader])
	create(t, c, "/l", "", 0)
	create(t, c, "/l/"+guid+"__lock__", "a", contender)
	var look zksource.Config
	for _, m := range e.Members {
		look.Servers, look.Admin = append(look.Servers, m.Addr), append(look.Admin, m.Admin)
	}
	return e, c, look
}

// An ensemble loses one member after another.
func TestFailingMembersAreReported(t *testing.T) {
	t.Parallel()
	e, c, cfg := ensembleLock(t, servertest.EnsembleConfig{SyncLimit: 60})
	leader := e.Leader(t)
	late := (leader + 1) % 3
	v := once(t, cfg)
	if slices.ContainsFunc(v.Backend.Servers, func(s inspect.Server) bool { return s.Lagging || s.Zxid == 0 }) || v.Backend.Unseen != nil {
		t.Errorf("all members in order: %+v, unseen %+v", v.Backend.Servers, v.Backend.Unseen)
	}

	other := (leader + 2) % 3
	e.Diverge(t, other, c, func(c *zk.Conn) { create(t, c, "/l/phantom", "", 0) })
	must.Become(t, "different data at the same transaction are reported", func() bool {
		servers := once(t, cfg).Backend.Servers
		return servers[other].NodesApart == 1 && servers[leader].NodesApart == 0 && servers[late].NodesApart == 0 && servers[other].Lag == 0
	})

	e.Cut(leader, late)
	create(t, c, "/l/"+guid2+"__lock__", "b", contender)
	v = once(t, cfg)
	for i, s := range v.Backend.Servers {
		if s.Lagging != (i == late) || (s.Lag > 0) != (i == late) {
			t.Errorf("server %d, want only %d to lag: %+v", i, late, s)
		}
	}
	b, _ := lookWithRules(t, cfg)
	if !slices.ContainsFunc(b.Findings, func(f inspect.Finding) bool {
		return f.Rule == "servers-disagree" && f.Subject.Server == inspect.Untrusted(cfg.Servers[late]) && strings.HasPrefix(f.Advice(), "look again")
	}) {
		t.Errorf("no finding names the lagging server: %+v", b.Findings)
	}

	dead := late
	e.Members[dead].Kill(t)
	b, l := lookWithRules(t, cfg)
	if b.State != inspect.Connected || l == nil || b.Servers[dead].State != inspect.ServerDown || b.Servers[dead].Error == "" {
		t.Errorf("%+v, %+v", b, l)
	}
	for _, a := range []inspect.Aspect{inspect.AspectServer, inspect.AspectSessions} {
		reported := slices.ContainsFunc(b.Unseen, func(u inspect.Unseen) bool {
			return u.Aspect == a && u.Where == cfg.Servers[dead] && strings.Contains(u.Reason, "connection refused")
		})
		must.True(t, reported, a, "of the dead server is not in unseen", b.Unseen)
	}

	e.Members[(dead+1)%3].Kill(t)
	must.Become(t, "no quorum is reported", func() bool {
		v := once(t, cfg)
		return v.Backend.State == inspect.Down && strings.Contains(v.Backend.Error, "no quorum (") && len(v.Locks) == 0
	})
}
