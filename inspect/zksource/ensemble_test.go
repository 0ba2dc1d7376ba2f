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
)

func TestEnsembleReportIsComplete(t *testing.T) {
	t.Parallel()
	servers := servertest.StartZooKeeperEnsemble(t, 3)
	var addrs, admins []string
	for _, zks := range servers {
		addrs, admins = append(addrs, zks.Addr), append(admins, zks.Admin)
	}
	first, second := onServer(t, servers[0]).as(40*time.Second), onServer(t, servers[2]).as(40*time.Second)
	held := first.queue("/l", "a")[0]
	second.create("/l/"+guid2+"__lock__", "b", contender)
	must.Have(second.conn.Sync(held))(t)
	second.lookAfter(held)
	all := zksource.Config{Servers: addrs, Admin: admins}
	v := once(t, all)
	if !v.All || v.Sessions[first.conn.SessionID()].Server != addrs[0] || v.Sessions[second.conn.SessionID()].Server != addrs[2] {
		t.Errorf("sessions, all of them %v: %+v", v.All, v.Sessions)
	}
	if v.Watches == nil || !slices.Equal(v.Watches.Sessions[held], []int64{second.conn.SessionID()}) {
		t.Errorf("watches: %+v", v.Watches)
	}
	roles := map[string]int{}
	for _, s := range v.Backend.Servers {
		roles[s.Role]++
	}
	if roles["leader"] != 1 || roles["follower"] != 2 {
		t.Errorf("servers: %+v", v.Backend.Servers)
	}

	// The waiter's server is not in the target, so its watch is unknown.
	w := observe(t, zksource.Config{Servers: addrs[:2], Admin: admins[:2]})
	l := w.Lock(first.id("/l"))
	if l == nil || len(l.Waiters) != 1 || l.Waiters[0].Watch != inspect.Unconfirmed {
		t.Errorf("two of three servers: %+v", l)
	}
	if b := w.Backends[0]; len(b.Findings) != 1 || !strings.Contains(b.Findings[0].Message, "has 3 servers and the target names 2") {
		t.Errorf("two of three servers: %+v", b.Findings)
	}
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
	if v.Backend.State != inspect.Connected || v.All || v.Locks["/l"] == nil || v.Backend.Servers[1].State != inspect.ServerDown || v.Backend.Voters != 3 {
		t.Errorf("one server is down: %+v, all sessions %v", v.Backend, v.All)
	}
	must.Become(t, "the waiter's watch is confirmed", func() bool {
		l := observe(t, all).Lock(first.id("/l"))
		return l != nil && l.Waiters[0].Watch == inspect.Confirmed
	})
}

// onEnsemble is a scene on the leader of an ensemble, with a lock. Its source reads all members.
func onEnsemble(t *testing.T, cfg servertest.EnsembleConfig) (*servertest.Ensemble, *scene) {
	t.Helper()
	e := servertest.StartEnsemble(t, cfg)
	s := onServer(t, e.Members[e.Leader(t)])
	s.queue("/l", "a")
	s.cfg.Servers = nil
	for _, m := range e.Members {
		s.cfg.Servers, s.cfg.Admin = append(s.cfg.Servers, m.Addr), append(s.cfg.Admin, m.Admin)
	}
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
	if slices.ContainsFunc(v.Backend.Servers, func(s inspect.Server) bool { return s.Lagging || s.Zxid == 0 }) || v.Backend.Unseen != nil {
		t.Errorf("all members in order: %+v, unseen %+v", v.Backend.Servers, v.Backend.Unseen)
	}

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
		if s.Lagging != (i == late) || (s.Lag > 0) != (i == late) {
			t.Errorf("server %d, want only %d to lag: %+v", i, late, s)
		}
	}
	b, _ := look(t, cfg)
	if !slices.ContainsFunc(b.Findings, func(f inspect.Finding) bool {
		return f.Rule == "servers-disagree" && f.Subject.Server == inspect.Untrusted(cfg.Servers[late]) && strings.HasPrefix(f.Advice(), "look again")
	}) {
		t.Errorf("no finding names the lagging server: %+v", b.Findings)
	}

	dead := late
	e.Members[dead].Kill(t)
	b, l := look(t, cfg)
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
