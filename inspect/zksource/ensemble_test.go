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
	start := time.Now()
	servers := servertest.StartZooKeeperEnsemble(t, 3)
	t.Logf("up after %v", time.Since(start))
	var addrs, admins []string
	for _, zks := range servers {
		addrs, admins = append(addrs, zks.Addr), append(admins, zks.Admin)
	}
	first, second := clientFor(t, servers[0], 40*time.Second), clientFor(t, servers[2], 40*time.Second)
	create(t, first, "/l", "", 0)
	held := create(t, first, "/l/"+guid+"__lock__", "a", contender)
	create(t, second, "/l/"+guid2+"__lock__", "b", contender)
	must.Have(second.Sync(held))(t)
	if _, _, _, err := second.GetW(held); err != nil { // as a waiter does
		t.Fatal(err)
	}
	all := zksource.Config{Servers: addrs, Admin: admins}
	v := once(t, all)
	if !v.All || v.Sessions[first.SessionID()].Server != addrs[0] || v.Sessions[second.SessionID()].Server != addrs[2] {
		t.Errorf("sessions, all of them %v: %+v", v.All, v.Sessions)
	}
	if v.Watches == nil || !slices.Equal(v.Watches.Sessions[held], []int64{second.SessionID()}) {
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
	l := w.Lock(inspect.ID{Backend: "zk", Path: "/l"})
	if l == nil || len(l.Waiters) != 1 || l.Waiters[0].Watch != inspect.Unconfirmed {
		t.Errorf("two of three servers: %+v", l)
	}
	if b := w.Backends[0]; len(b.Findings) != 1 || !strings.Contains(b.Findings[0].Message, "has 3 servers and the target names 2") {
		t.Errorf("two of three servers: %+v", b.Findings)
	}
	twice := once(t, zksource.Config{Servers: []string{addrs[0], addrs[0], addrs[1]}, Admin: []string{admins[0], admins[0], admins[1]}})
	must.True(t, !twice.All, "a server that is named twice counts as two")

	servers[1].Kill(t)
	for _, c := range []*zk.Conn{first, second} { // a lost leader must be replaced first
		must.Become(t, "the other servers serve", func() bool {
			_, err := c.Sync("/l")
			return err == nil
		})
	}
	v = once(t, all)
	if v.Backend.State != inspect.Connected || v.All || v.Locks["/l"] == nil || v.Backend.Servers[1].State != inspect.ServerDown || v.Backend.Voters != 3 {
		t.Errorf("one server is down: %+v, all sessions %v", v.Backend, v.All)
	}
	must.Become(t, "the waiter's watch is confirmed", func() bool {
		l := observe(t, all).Lock(inspect.ID{Backend: "zk", Path: "/l"})
		return l != nil && l.Waiters[0].Watch == inspect.Confirmed
	})
}
