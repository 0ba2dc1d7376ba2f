package zksource_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestEnsembleReportIsComplete(t *testing.T) {
	t.Parallel()
	servers := servertest.StartZooKeeperEnsemble(t, 3)
	all := target(servers)
	addrs, admins := all.Servers, all.Admin
	first, second := onServer(t, servers[0]).as(40*time.Second), onServer(t, servers[2]).as(40*time.Second)
	held := first.queue("/l", "a")[0]
	second.create("/l/"+guid2+"__lock__", "b", contender)
	must.Have(second.conn.Sync(held))(t)
	second.lookAfter(held)
	v := once(t, all)
	must.True(t, v.All, "sessions are missing", v.Sessions)
	must.Equal(t, v.Sessions[first.conn.SessionID()].Server, addrs[0], "the first client's server")
	must.Equal(t, v.Sessions[second.conn.SessionID()].Server, addrs[2], "the second client's server")
	must.Same(t, v.Watches.Sessions[held], []int64{second.conn.SessionID()}, "watches")
	roles := map[string]int{}
	for _, s := range v.Backend.Servers {
		roles[s.Role]++
	}
	must.True(t, roles["leader"] == 1 && roles["follower"] == 2, "servers", v.Backend.Servers)

	// The waiter's server is not in the target, so its watch is unknown.
	w := observe(t, zksource.Config{Servers: addrs[:2], Admin: admins[:2]})
	l := w.Lock(first.id("/l"))
	must.Equal(t, l.Waiters[0].Watch, inspect.Unconfirmed, "watch at two of three servers")
	found := w.Backends[0].Findings
	must.Equal(t, len(found), 1, "findings", found)
	must.Contain(t, found[0].Message, "has 3 servers and the target names 2")
	twice := once(t, zksource.Config{Servers: []string{addrs[0], addrs[0], addrs[1]}, Admin: []string{admins[0], admins[0], admins[1]}})
	must.True(t, !twice.All, "a server that is named twice counts as two")

	servers[1].Kill(t)
	for _, s := range []*scene{first, second} { // a lost leader must be replaced first
		must.Become(t, "the other servers serve", func() bool {
			_, err := s.conn.Sync("/l")
			return err == nil
		})
	}
	v = once(t, all)
	must.True(t, v.Locks["/l"] != nil && !v.All, "one server is down", v.Describe(), "all sessions", v.All)
	must.Equal(t, v.Backend.State, inspect.Connected, "one server is down")
	must.Equal(t, v.Backend.Servers[1].State, inspect.ServerDown)
	must.Equal(t, v.Backend.Voters, 3, "voters")
	must.Become(t, "the waiter's watch is confirmed", func() bool {
		l := observe(t, all).Lock(first.id("/l"))
		return l != nil && l.Waiters[0].Watch == inspect.Confirmed
	})
}

// target is the configuration of a source that reads these servers.
func target(servers []*servertest.ZooKeeper) (cfg zksource.Config) {
	for _, zks := range servers {
		cfg.Servers, cfg.Admin = append(cfg.Servers, zks.Addr), append(cfg.Admin, zks.Admin)
	}
	return cfg
}

// onEnsemble is a scene on the leader of an ensemble, with a lock. Its source reads all members.
func onEnsemble(t *testing.T, cfg servertest.EnsembleConfig) (*servertest.Ensemble, *scene) {
	t.Helper()
	e := servertest.StartEnsemble(t, cfg)
	s := onServer(t, e.Members[e.Leader(t)])
	s.queue("/l", "a")
	s.cfg = target(e.Members)
	return e, s
}

// An ensemble loses one member after another.
func TestFailingMembersAreReported(t *testing.T) {
	t.Parallel()
	e, s := onEnsemble(t, servertest.EnsembleConfig{SyncLimit: 60})
	cfg := s.cfg
	leader := e.Leader(t)
	late := (leader + 1) % 3
	v := once(t, cfg)
	lags := slices.ContainsFunc(v.Backend.Servers, func(s inspect.Server) bool { return s.Lagging || s.Zxid == 0 })
	must.True(t, !lags && v.Backend.Unseen == nil, "all members in order", v.Backend)

	other := (leader + 2) % 3
	e.Diverge(t, other, s.conn, func(c *zk.Conn) {
		must.Have(c.Create("/l/phantom", nil, 0, everyone))(t)
	})
	must.Become(t, "different data at the same transaction are reported", func() bool {
		servers := once(t, cfg).Backend.Servers
		return servers[other].NodesApart == 1 && servers[leader].NodesApart == 0 && servers[late].NodesApart == 0 && servers[other].Lag == 0
	})

	e.Cut(leader, late)
	s.join("/l", "b")
	v = once(t, cfg)
	for i, s := range v.Backend.Servers {
		must.Equal(t, s.Lagging, i == late, "lagging", i, s)
		must.Equal(t, s.Lag > 0, i == late, "lag", i, s)
	}
	b, _ := look(t, cfg)
	named := slices.ContainsFunc(b.Findings, func(f inspect.Finding) bool {
		about := f.Rule == "servers-disagree" && f.Subject.Server == inspect.Untrusted(cfg.Servers[late])
		return about && strings.HasPrefix(f.Advice(), "look again")
	})
	must.True(t, named, "no finding names the lagging server", b.Findings)

	dead := late
	e.Members[dead].Kill(t)
	b, l := look(t, cfg)
	must.True(t, b.State == inspect.Connected && l != nil, b, l)
	must.True(t, b.Servers[dead].State == inspect.ServerDown && b.Servers[dead].Error != "", "dead", b.Servers[dead])
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

func rulesOf(found []inspect.Finding) (rules []string) {
	for _, f := range found {
		rules = append(rules, f.Rule)
	}
	return rules
}

// heldFor is how long the holder has held a lock, in words for the user.
func heldFor(t *testing.T, cfg zksource.Config, l *inspect.Lock) describe.Held {
	t.Helper()
	snapshot := observe(t, cfg)
	return describe.View{Snapshot: snapshot, Now: snapshot.TakenAt}.Held(l, &l.Holders[0])
}

// wrongClock is onEmbedded with a contended lock on a server whose clock is off.
func wrongClock(t *testing.T, ahead time.Duration, words ...string) *scene {
	t.Helper()
	s := onEmbedded(t, zkserver.Config{Words: words})
	s.zks.Embedded.SetClock(ahead)
	s.contended("/l")
	return s
}

// The server's clock is hours off, and a waiter has just queued behind a new holder. Our own
// connection or the AdminServer's date shows the offset, and no lock is stuck.
func TestSingleLookDetectsWrongClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			s := wrongClock(t, ahead)
			b, l := look(t, s.cfg)
			off := b.ClockOffset() - ahead
			must.True(t, b.ClockKnown() && off.Abs() <= b.Clock.Within+time.Millisecond, b.Clock, "is wrong by", off)
			must.True(t, !slices.Contains(rulesOf(l.Findings), "stuck-holder"), l.Findings)
			must.True(t, slices.Contains(rulesOf(b.Findings), "clock-skew"), b.Findings)
			held := heldFor(t, s.cfg, l)
			must.True(t, held.Known != describe.About && held.Duration <= time.Hour, "held", held)
		})
	}
}

// No release is advised if the server's clock is unknown.
func TestUnknownClockAdvisesNoRelease(t *testing.T) {
	s := wrongClock(t, -2*time.Hour, "srvr")
	b, l := look(t, s.cfg)
	must.True(t, !b.ClockKnown(), b.Clock)
	i := slices.Index(rulesOf(l.Findings), "stuck-holder")
	if i < 0 {
		t.Fatalf("%+v", l.Findings)
	}
	f := l.Findings[i]
	must.Equal(t, f.Severity, inspect.Warning, "severity")
	must.Equal(t, f.Confidence, recipe.Possible, "confidence")
	must.True(t, !strings.Contains(f.Advice(), "release"), f.Advice())
	must.Contain(t, f.Advice(), "date")
	held := heldFor(t, s.cfg, l)
	must.Equal(t, held.Known, describe.About, held)
	must.Contain(t, held.String(), "about 2h")
}

func TestFutureNodeRevealsFastClock(t *testing.T) {
	b, _ := look(t, wrongClock(t, 2*time.Hour, "srvr").cfg)
	off := b.ClockOffset()
	must.True(t, !b.ClockKnown(), b.Clock)
	must.True(t, off >= 2*time.Hour-time.Minute && off <= 2*time.Hour, "off by", off)
}

// The clock is the leader's, whichever member we are connected to.
func TestSingleLookUsesLeadersClock(t *testing.T) {
	t.Parallel()
	_, s := onEnsemble(t, servertest.EnsembleConfig{})
	s.cfg.Admin = nil
	for range 6 {
		b, l := look(t, s.cfg)
		must.True(t, l != nil, "no lock")
		must.True(t, b.ClockKnown() && b.Clock.Offset.Abs() <= b.Clock.Within, b.Clock, b.Servers)
	}
}

// After a server restart, clients may reconnect until their sessions expire. Meanwhile, none of
// them counts as gone, and no watch as missing.
func TestReturningClientsAreNotGhosts(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	wire := servertest.StartWire(t, zks.Addr)
	holder := onServer(t, &servertest.ZooKeeper{Addr: wire.Addr()}).as(20 * time.Second)
	waiter := holder.as(20 * time.Second)
	held := holder.queue("/l", "a")[0]
	waiter.create("/l/"+guid2+"__lock__", "b", contender)
	waiter.lookAfter(held)
	see := func() (b *inspect.Backend, l *inspect.Lock) {
		b, l = look(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}})
		demand(t, l, "kazoo mutex contended 1+1")
		for _, rule := range rulesOf(l.Findings) {
			must.True(t, rule != "ghost-owner" && rule != "missing-watch", l.Findings)
		}
		return b, l
	}
	must.Become(t, "the holder is 6 s old", func() bool {
		_, l := see()
		return time.Since(l.Holders[0].Since) > 6*time.Second
	})
	restarted := time.Now()
	zks.Kill(t)
	wire.Stop(servertest.ToServer)
	wire.Reset()
	zks.Restart(t)
	b, l := see()
	must.True(t, !b.DisturbedAt.Before(restarted), "disturbed at", b.DisturbedAt, "restarted at", restarted)
	must.Equal(t, l.Waiters[0].Watch, inspect.Unconfirmed, "watch")
	must.Equal(t, l.Holders[0].Owner.Client, "", "the holder has reconnected from")
	wire.Heal()
	must.Become(t, "both have reconnected", func() bool {
		_, l := see()
		return l.Holders[0].Owner.Client != "" && l.Waiters[0].Watch == inspect.Confirmed
	})
}

// A server that hangs is down. Its locks age until it answers again.
func TestHungServersLockAges(t *testing.T) {
	s := onReal(t)
	s.queue("/lock", "a")
	v := s.watchHastily()
	v.awaitState("/lock", inspect.StateHeld)
	asOf := func(now time.Time) (at time.Time) {
		v.Peek(func() { at = v.Locks["/lock"].AsOf(v.Backend, now) })
		return at
	}
	now := time.Now()
	must.Equal(t, asOf(now), now, "as of")
	hung := time.Now()
	s.zks.Pause(t)
	v.Await("down", func() bool { return v.Backend.State == inspect.Down && v.Backend.Error != "" })
	at := asOf(time.Now())
	must.True(t, !at.After(hung) && hung.Sub(at) <= 10*time.Second, "as of", at, "hung since", hung)
	s.zks.Resume(t)
	v.awaitConnection(inspect.Connected)
	v.Peek(func() { must.True(t, v.Backend.DisturbedAt.After(hung), "disturbed at", v.Backend.DisturbedAt) })
}

func TestPolledLockAgesUntilReadAgain(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{WithoutAddWatch: true})
	s.queue("/l", "a")
	v := s.watchHastily()
	var read time.Time
	v.awaitLock("/l", "polled", func(l *inspect.Lock) bool { read = l.ReadAt; return l.Polled })
	v.awaitLock("/l", "a later read", func(l *inspect.Lock) bool { return l.ReadAt.After(read) })
	v.Peek(func() {
		l := v.Locks["/l"]
		must.True(t, l.AsOf(v.Backend, time.Now()).Equal(l.ReadAt), "as of another time than", l.ReadAt)
	})
}
