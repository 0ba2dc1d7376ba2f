package zksource_test

import (
	"fmt"
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

// generations are servers of different ages. A server with only one of multiRead and addWatch counts
// as old.
var generations = map[string]zkserver.Config{
	"3.5":             {WithoutMultiRead: true, WithoutAddWatch: true},
	"multiRead alone": {WithoutAddWatch: true},
	"addWatch alone":  {WithoutMultiRead: true},
	"3.6":             {},
}

// Every generation shows the same locks.
func TestServerGenerationsGiveSameResult(t *testing.T) {
	t.Parallel()
	for name, cfg := range generations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zks := servertest.StartEmbeddedZooKeeper(t, cfg)
			c := client(t, zks)
			create(t, c, "/locks", "", 0)
			lock := func(i int) string { return fmt.Sprintf("/locks/l%03d", i) }
			var first string
			for i := range 60 {
				create(t, c, lock(i), "", 0)
				first = create(t, c, lock(i)+"/"+guid+"__lock__", "a", contender)
				create(t, c, lock(i)+"/"+guid2+"__lock__", "b", contender)
			}
			v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{"/locks"}})
			whole := func() bool {
				for i := range 60 {
					if l := v.Locks[lock(i)]; l == nil || l.State != inspect.StateContended || l.Waiters[0].Owner.Label != "b" {
						return false
					}
				}
				return true
			}
			var b *inspect.Backend
			v.Await("all", func() bool { b = v.Backend; return whole() && b.FirstPass })
			old := cfg.WithoutMultiRead || cfg.WithoutAddWatch
			if strings.Contains(b.Reading, "polled") != old || strings.Contains(b.Reading, "one watch per root") == old {
				t.Errorf("reading: %q", b.Reading)
			}
			if below := b.Cost.Watches == 1; below == old || b.Lost > 0 || b.State != inspect.Connected {
				t.Errorf("%d watches, %d lost, %s", b.Cost.Watches, b.Lost, b.State)
			}
			v.Peek(func() {
				if v.Locks[lock(0)].Polled != old {
					t.Errorf("Polled is %v", !old)
				}
			})
			follows := func(generation int) {
				t.Helper()
				label := fmt.Sprint("c", generation)
				created := create(t, c, lock(59)+"/"+guid+"__lock__", label, contender)
				before := 0
				v.Await("a third contender", func() bool {
					l := v.Locks[lock(59)]
					before = l.Contention()
					return len(l.Waiters) > 0 && string(l.Waiters[len(l.Waiters)-1].Owner.Label) == label
				})
				remove(t, c, created)
				v.Await("its departure", func() bool { return v.Locks[lock(59)].Contention() == before-1 })
				fresh := fmt.Sprint("/locks/new", generation)
				create(t, c, fresh, "", 0)
				create(t, c, fresh+"/"+guid+"__lock__", "d", contender)
				v.Await("a new lock", func() bool { return v.Locks[fresh] != nil && v.Locks[fresh].State == inspect.StateHeld })
			}
			follows(1)
			v.Await("a lost session", func() bool {
				for _, id := range zks.Embedded.Sessions() {
					if id != c.SessionID() {
						_ = zks.Embedded.ExpireSession(id)
					}
				}
				return v.Backend.Lost > 0
			})
			remove(t, c, first)
			v.Await("the missed change", func() bool { return v.Locks[lock(59)].State == inspect.StateHeld })
			follows(2)
		})
	}
}

func TestRecreatedNodeIsReadAgain(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		create(t, c, root+"/l", "", 0)
		node := create(t, c, root+"/l/"+guid+"__lock__", "first", contender)
		v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("first", func() bool { l := v.Locks[root+"/l"]; return l != nil && l.Holders[0].Owner.Label == "first" })
		for i := range 5 {
			label := fmt.Sprint("again ", i)
			_, err := c.Multi(&zk.DeleteRequest{Path: node, Version: -1},
				&zk.CreateRequest{Path: node, Data: []byte(label), Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermAll)})
			must.Succeed(t, err)
			v.Await(label, func() bool { return string(v.Locks[root+"/l"].Holders[0].Owner.Label) == label })
		}
	})
}

// Newer servers report nothing about unreadable nodes, so their directory is polled.
func TestUnreadableWaitersArePolled(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/l", "", 0)
	create(t, c, "/l/"+guid+"__lock__", "a", contender)
	secret := func() string {
		t.Helper()
		return must.Have(c.Create("/l/"+guid2+"__lock__", []byte("b"), contender, unreadable))(t)
	}
	first := secret()
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("a waiter that may not be read", func() bool {
		l := v.Locks["/l"]
		return l != nil && len(l.Waiters) == 1 && l.Unknown(inspect.AspectOwner) && v.Backend.FirstPass
	})
	second := secret()
	v.Await("another", func() bool { return len(v.Locks["/l"].Waiters) == 2 })
	remove(t, c, second)
	remove(t, c, first)
	v.Await("no waiters", func() bool { return len(v.Locks["/l"].Waiters) == 0 })
}

func TestUnreportedCreationsAreFound(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/l", "", 0)
	create(t, c, "/l/"+guid+"__lock__", "a", contender)
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("held", func() bool { l := v.Locks["/l"]; return l != nil && v.Backend.FirstPass })
	must.Have(c.Create("/l/"+guid2+"__lock__", []byte("b"), contender, unreadable))(t)
	v.Await("a waiter that may not be read", func() bool { return len(v.Locks["/l"].Waiters) == 1 })
}

func TestNodesWithMuchDataAreRead(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := clientFor(t, zks, 40*time.Second) // so much data delays pings on a busy machine
	create(t, c, "/l", "", 0)
	const contenders = 12
	for range contenders {
		create(t, c, "/l/"+guid+"__lock__", strings.Repeat("x", 900_000), contender)
	}
	v := once(t, zksource.Config{Servers: []string{zks.Addr}, Timeout: time.Minute})
	l := v.Locks["/l"]
	if l == nil || l.Contention() != contenders {
		t.Fatalf("lock %+v, backend %+v", l, v.Backend)
	}
	for _, w := range l.Waiters {
		must.Equal(t, w.Owner.Session, c.SessionID(), w.Name, "was not read")
	}
}

// A server closes the connection if one request has fifty long paths.
func TestNodesWithLongPathsAreRead(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		long := root + "/" + strings.Repeat("l", 30_000)
		create(t, c, long, "", 0)
		const contenders = 60
		for range contenders {
			create(t, c, long+"/"+guid+"__lock__", "x", contender)
		}
		v := once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		if l := v.Locks[long]; l == nil || l.Contention() != contenders || v.Backend.Lost > 0 {
			t.Fatalf("%d connections lost, lock found: %v", v.Backend.Lost, l != nil)
		}
		for _, w := range v.Locks[long].Waiters {
			must.Equal(t, w.Owner.Session, c.SessionID(), w.Name, "was not read")
		}
	})
}
