package zksource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// hidden reports whether a lock is fully unknown, with a reason and that missing right.
func hidden(l *inspect.Lock, right string) bool {
	return l != nil && l.State == inspect.StateUnknown && l.Contention() == 0 && l.Unknown(inspect.AspectHolders) &&
		l.Unknown(inspect.AspectWaiters) && l.Unseen[0].Reason != "" && l.Unseen[0].Where != "" && l.Unseen[0].Right == right
}

func TestLockOverBudgetIsUnknown(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/big", "", 0)
	var nodes []string
	for range 3 {
		nodes = append(nodes, create(t, c, "/big/"+guid+"__lock__", "a", contender))
	}
	budget := zksource.Budget{Children: 5}
	v, s := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Budget: budget})
	v.Await("contended", func() bool { l := v.Locks["/big"]; return l != nil && l.State == inspect.StateContended })
	s.Focus([]inspect.ID{{Backend: "zk", Path: "/big"}})
	for range 4 {
		nodes = append(nodes, create(t, c, "/big/"+guid+"__lock__", "a", contender))
	}
	var l *inspect.Lock
	v.Await("unknown", func() bool { l = v.Locks["/big"]; return hidden(l, "") })
	if l.Kind != inspect.KindMutex || l.Recipe != "kazoo" {
		t.Errorf("kind or recipe forgotten: %+v", l)
	}
	w := once(t, zksource.Config{Servers: []string{zks.Addr}, Budget: budget, Only: "/big"})
	must.True(t, hidden(w.Locks["/big"], ""), "requested by name", w.Describe())
	for _, node := range nodes[:4] {
		remove(t, c, node)
	}
	v.Await("known again", func() bool { return v.Locks["/big"].Contention() == 3 && len(v.Locks["/big"].Unseen) == 0 })
}

func TestUnreadableLockIsUnknown(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/l", "", 0)
	create(t, c, "/l/"+guid+"__lock__", "a", contender)
	v, s := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
	s.Focus([]inspect.ID{{Backend: "zk", Path: "/l"}})
	v.Await("held", func() bool { l := v.Locks["/l"]; return l != nil && l.State == inspect.StateHeld })
	must.Succeed(t, c.AddAuth("digest", []byte("ops:secret")))
	allow := func(acl []zk.ACL) {
		t.Helper()
		must.Have(c.SetACL("/l", acl, -1))(t)
	}
	allow(zk.DigestACL(zk.PermAll, "ops", "secret"))
	create(t, c, "/l/"+guid2+"__lock__", "b", contender)
	v.Await("unknown", func() bool { return hidden(v.Locks["/l"], "READ on /l") })
	v.Peek(func() {
		if l := v.Locks["/l"]; l.Recipe != "kazoo" || v.Backend.State != inspect.Connected {
			t.Errorf("lock %+v, backend %+v", l, v.Backend)
		}
	})

	for auth, user := range map[string]string{"": "", "viewer:topsecret": "viewer"} {
		for name, cfg := range map[string]zksource.Config{"only": {Only: "/l"}, "root": {Roots: []string{"/l"}}} {
			cfg.Servers, cfg.Auth = []string{zks.Addr}, []byte(auth)
			w := once(t, cfg)
			b := w.Backend
			said := strings.Contains(b.Error, "not allowed to read /l") && strings.Contains(b.Error, zks.Addr) &&
				strings.Contains(b.Error, "user "+user) == (user != "")
			if b.State != inspect.Degraded || !said || strings.Contains(b.Error+fmt.Sprintf("%+v", b), "topsecret") {
				t.Errorf("%s as %q: %+v", name, user, b)
			}
			must.Equal(t, hidden(w.Locks["/l"], "READ on /l"), (name == "only"), name, "as", user, w.Describe())
		}
	}
}

// No watch reports a changed ACL. Without our right, even an idle lock out of focus is soon unknown.
// It is known again once the right is restored.
func TestIdleLockNoticesRevokedRight(t *testing.T) {
	t.Parallel()
	servers := map[string]func(*testing.T) *servertest.ZooKeeper{"real": func(t *testing.T) *servertest.ZooKeeper { return servertest.StartZooKeeper(t) }}
	for name, cfg := range generations {
		servers[name] = func(t *testing.T) *servertest.ZooKeeper { return servertest.StartEmbeddedZooKeeper(t, cfg) }
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zks := start(t)
			c := client(t, zks)
			must.Succeed(t, c.AddAuth("digest", []byte("ops:secret")))
			allow := func(p string, acl []zk.ACL) {
				t.Helper()
				must.Have(c.SetACL(p, acl, -1))(t)
			}
			create(t, c, "/l", "", 0)
			create(t, c, "/l/"+guid+"__lock__", "a", contender)
			create(t, c, "/private", "", 0)
			create(t, c, "/private/"+guid+"__lock__", "a", contender)
			allow(create(t, c, "/private/"+guid2+"__lock__", "b", contender), zk.DigestACL(zk.PermAll, "ops", "secret"))
			v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
			seen := func() bool {
				l, s := v.Locks["/l"], v.Locks["/private"]
				return v.Backend != nil && v.Backend.FirstPass && l != nil && l.State == inspect.StateHeld && s != nil && s.State == inspect.StateContended
			}
			v.Await("both locks", seen)
			for _, p := range []string{"/l", "/private"} {
				allow(p, zk.DigestACL(zk.PermAll, "ops", "secret"))
				v.Await(p+" is unknown", func() bool { return hidden(v.Locks[p], "READ on "+p) })
			}
			for _, p := range []string{"/l", "/private"} {
				allow(p, zk.WorldACL(zk.PermAll))
			}
			v.Await("both locks again", seen)
		})
	}
}

// ZooKeeper accepts any digest. Only a refused read shows that the password has changed.
func TestRefusalLoadsNewCredentials(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c := client(t, zks)
		for _, password := range []string{"old", "new"} {
			must.Succeed(t, c.AddAuth("digest", []byte("ops:"+password)))
		}
		dir := servertest.UniquePath(t)
		create(t, c, dir, "", 0)
		create(t, c, dir+"/l", "", 0)
		create(t, c, dir+"/l/"+guid+"__lock__", "a", contender)
		allow := func(password string) {
			t.Helper()
			must.Have(c.SetACL(dir+"/l", zk.DigestACL(zk.PermAll, "ops", password), -1))(t)
		}
		allow("old")
		v, _ := watchHastily(t, zksource.Config{
			Servers: []string{zks.Addr}, Roots: []string{dir}, Auth: []byte("ops:old"),
			NewAuth: func() []byte { return []byte("ops:new") },
		})
		held := func() bool { l := v.Locks[dir+"/l"]; return l != nil && l.State == inspect.StateHeld }
		v.Await("held", held)
		allow("new")
		create(t, c, dir+"/l/"+guid2+"__lock__", "b", contender)
		v.Await("read with the new password", func() bool {
			l := v.Locks[dir+"/l"]
			return l.Contention() == 2 && len(l.Unseen) == 0
		})
	})
}
