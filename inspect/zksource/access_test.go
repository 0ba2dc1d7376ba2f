package zksource_test

import (
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// rightsOf is the access list of a lock's contender in words; empty where it was not asked for.
func rightsOf(l *inspect.Lock, name string) string {
	if l == nil {
		return "no lock"
	}
	a := l.Access[inspect.Untrusted(name)]
	if a == nil {
		return ""
	}
	return a.String()
}

// accessTree has a queue of three: one that anybody may change, one of an account, and one that nobody else may read.
func accessTree(t *testing.T, zks *servertest.ZooKeeper) (open, own, closed string) {
	t.Helper()
	c := client(t, zks)
	if err := c.AddAuth("digest", []byte("billing:secret")); err != nil {
		t.Fatal(err)
	}
	create(t, c, "/l", "", 0)
	create(t, c, "/other", "", 0)
	create(t, c, "/other/"+guid+"__lock__", "a", contender)
	of := func(data string, acl []zk.ACL) string {
		made, err := c.Create("/l/"+guid+"__lock__", []byte(data), contender, acl)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(made, "/l/")
	}
	open = of("a", zk.WorldACL(zk.PermAll))
	own = of("b", append(zk.AuthACL(zk.PermAll), zk.ACL{Perms: zk.PermRead, Scheme: "world", ID: "anyone"}, zk.ACL{Perms: zk.PermRead, Scheme: "ip", ID: "10.0.0.7"}))
	closed = of("c", zk.AuthACL(zk.PermAll))
	return open, own, closed
}

// Who has rights on the nodes of a lock is read where somebody looks at that lock alone, without the hash of
// a password; what may not be read is unknown, with the right that is missing, and the lock is none the worse
// for it.
func TestWhoHasRightsOnANode(t *testing.T) {
	t.Parallel()
	servers := map[string]func(*testing.T) *servertest.ZooKeeper{"real": func(t *testing.T) *servertest.ZooKeeper { return servertest.StartZooKeeper(t) }}
	for name, cfg := range generations {
		servers[name] = func(t *testing.T) *servertest.ZooKeeper { return servertest.StartEmbeddedZooKeeper(t, cfg) }
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zks := start(t)
			open, own, closed := accessTree(t, zks)
			right := func(l *inspect.Lock) bool {
				return rightsOf(l, open) == "anyone (cdrwa)" &&
					rightsOf(l, own) == "digest billing (cdrwa), anyone (r), ip 10.0.0.7 (r)" &&
					rightsOf(l, closed) == "unknown: getACL /l/"+closed+": NoAuth (it needs READ or ADMIN on /l/"+closed+")"
			}
			v, s := watch(t, zksource.Config{Servers: []string{zks.Addr}})
			v.Await("seen", func() bool { l := v.Locks["/l"]; return l != nil && l.Contention() == 3 && v.Backend.FirstPass })
			v.Peek(func() {
				if l := v.Locks["/l"]; len(l.Access) > 0 {
					t.Errorf("nobody looks at it: %v", l.Access)
				}
			})
			here, there := inspect.ID{Backend: "zk", Path: "/l"}, inspect.ID{Backend: "zk", Path: "/other"}
			s.Focus([]inspect.ID{here})
			v.Await("the lists", func() bool { return right(v.Locks["/l"]) })
			v.Peek(func() {
				if v.Locks["/l"].State != inspect.StateContended || len(v.Locks["/other"].Access) > 0 {
					t.Errorf("%+v", v.Describe())
				}
			})
			c := client(t, zks)
			remove(t, c, "/l/"+open)
			create(t, c, "/l/"+guid2+"__lock__", "d", contender)
			v.Await("those who came", func() bool {
				l := v.Locks["/l"]
				return l.Contention() == 3 && rightsOf(l, l.Waiters[1].Name.Raw()) == "anyone (cdrwa)" && rightsOf(l, open) == ""
			})
			s.Focus([]inspect.ID{there}) // nothing else has this one looked at again: all of it may be read, and it does not change
			v.Await("those of the other", func() bool { l := v.Locks["/other"]; return rightsOf(l, l.Holders[0].Name.Raw()) == "anyone (cdrwa)" })
			s.Focus([]inspect.ID{here, there})
			create(t, c, "/l/"+guid2+"__lock__", "e", contender)
			v.Await("no more where several are looked at", func() bool { l := v.Locks["/l"]; return l.Contention() == 4 && len(l.Access) == 0 })
		})
	}
}

// One look at a lock asks for the lists, one at all locks does not.
func TestOneLookAtALockHasItsRights(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	open, own, _ := accessTree(t, zks)
	only := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: "/l"})
	if l := only.Locks["/l"]; rightsOf(l, open) != "anyone (cdrwa)" || !strings.HasPrefix(rightsOf(l, own), "digest billing (cdrwa)") {
		t.Errorf("%+v", l)
	}
	all := once(t, zksource.Config{Servers: []string{zks.Addr}})
	if l := all.Locks["/l"]; l.Contention() != 3 || len(l.Access) > 0 {
		t.Errorf("%+v", l)
	}
}

// Nothing reports that rights were given or taken: while somebody looks at a lock its lists are read again.
func TestRightsThatChangeAreSeen(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	open, _, closed := accessTree(t, zks)
	v, s := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("seen", func() bool { l := v.Locks["/l"]; return l != nil && l.Contention() == 3 && v.Backend.FirstPass })
	s.Focus([]inspect.ID{{Backend: "zk", Path: "/l"}})
	v.Await("the lists", func() bool {
		l := v.Locks["/l"]
		return rightsOf(l, open) == "anyone (cdrwa)" && strings.HasPrefix(rightsOf(l, closed), "unknown")
	})
	c := client(t, zks)
	if err := c.AddAuth("digest", []byte("billing:secret")); err != nil {
		t.Fatal(err)
	}
	for name, rights := range map[string]int32{open: zk.PermRead, closed: zk.PermAll} {
		if _, err := c.SetACL("/l/"+name, zk.WorldACL(rights), -1); err != nil {
			t.Fatal(err)
		}
	}
	v.Await("what they are now", func() bool {
		l := v.Locks["/l"]
		return rightsOf(l, open) == "anyone (r)" && rightsOf(l, closed) == "anyone (cdrwa)"
	})
}
