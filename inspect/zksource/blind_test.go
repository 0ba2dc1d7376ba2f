package zksource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// owners is an ACL for the user ops alone.
func owners(password string) []zk.ACL { return zk.DigestACL(zk.PermAll, "ops", password) }

var everyone = zk.WorldACL(zk.PermAll)

// logIn lets the client act as the user ops.
func (s *scene) logIn(passwords ...string) {
	s.t.Helper()
	for _, password := range passwords {
		must.Succeed(s.t, s.conn.AddAuth("digest", []byte("ops:"+password)))
	}
}

// hidden reports whether a lock is fully unknown, with a reason and that missing right.
func hidden(l *inspect.Lock, right string) bool {
	return l != nil && l.State == inspect.StateUnknown && l.Contention() == 0 && l.Unknown(inspect.AspectHolders) &&
		l.Unknown(inspect.AspectWaiters) && l.Unseen[0].Reason != "" && l.Unseen[0].Where != "" && l.Unseen[0].Right == right
}

func TestUnreadableDirectoryIsSkipped(t *testing.T) {
	t.Parallel()
	s := onServer(t, servertest.StartZooKeeper(t))
	s.queue("/open", "a")
	s.logIn("secret")
	s.queue("/shut", "a")
	s.allow("/shut", owners("secret"))
	v := s.once()
	if len(v.Locks) != 1 || v.Locks["/open"] == nil {
		t.Errorf("locks: %v", v.Describe())
	}
	blind := slices.ContainsFunc(v.Backend.Unseen, func(u inspect.Unseen) bool {
		return u.Aspect == inspect.AspectLocks && u.Read == "getChildren /shut" && u.Right == "READ on /shut" && u.Where == s.zks.Addr
	})
	if !blind || v.Backend.State != inspect.Connected {
		t.Errorf("backend: %+v", v.Backend)
	}
	s.cfg.Auth = []byte("ops:secret")
	must.True(t, s.once().Locks["/shut"] != nil, "not read with credentials")
}

func TestLockOverBudgetIsUnknown(t *testing.T) {
	t.Parallel()
	s := embedded(t, zkserver.Config{})
	s.cfg.Budget = zksource.Budget{Children: 5}
	nodes := s.queue("/big", "a", "a", "a")
	v := s.watchHastily()
	v.awaitState("/big", inspect.StateContended)
	v.focus("/big")
	for range 4 {
		nodes = append(nodes, s.join("/big", "a"))
	}
	v.awaitLock("/big", "unknown", func(l *inspect.Lock) bool { return hidden(l, "") })
	v.Peek(func() {
		if l := v.Locks["/big"]; l.Kind != inspect.KindMutex || l.Recipe != "kazoo" {
			t.Errorf("kind or recipe forgotten: %+v", l)
		}
	})
	w := s.named("/big")
	must.True(t, hidden(w.Locks["/big"], ""), "requested by name", w.Describe())
	for _, node := range nodes[:4] {
		s.remove(node)
	}
	v.awaitLock("/big", "known again", func(l *inspect.Lock) bool { return l.Contention() == 3 && len(l.Unseen) == 0 })
}

func TestUnreadableLockIsUnknown(t *testing.T) {
	t.Parallel()
	s := onServer(t, servertest.StartZooKeeper(t))
	s.queue("/l", "a")
	v := s.watchHastily()
	v.focus("/l")
	v.awaitState("/l", inspect.StateHeld)
	s.logIn("secret")
	s.allow("/l", owners("secret"))
	s.join("/l", "b")
	v.awaitLock("/l", "unknown", func(l *inspect.Lock) bool { return hidden(l, "READ on /l") })
	v.Peek(func() {
		if l := v.Locks["/l"]; l.Recipe != "kazoo" || v.Backend.State != inspect.Connected {
			t.Errorf("lock %+v, backend %+v", l, v.Backend)
		}
	})

	for auth, user := range map[string]string{"": "", "viewer:topsecret": "viewer"} {
		for name, cfg := range map[string]zksource.Config{"only": {Only: "/l"}, "root": {Roots: []string{"/l"}}} {
			cfg.Servers, cfg.Auth = s.cfg.Servers, []byte(auth)
			w := once(t, cfg)
			b := w.Backend
			must.Equal(t, b.State, inspect.Degraded, name, "as", user)
			must.Contain(t, b.Error, "not allowed to read /l", name, "as", user)
			must.Contain(t, b.Error, s.zks.Addr, name, "as", user)
			must.Equal(t, strings.Contains(b.Error, "user "+user), user != "", b.Error, "names the user")
			must.True(t, !strings.Contains(b.Error+fmt.Sprintf("%+v", b), "topsecret"), "the password is shown", b)
			must.Equal(t, hidden(w.Locks["/l"], "READ on /l"), name == "only", name, "as", user, w.Describe())
		}
	}
}

// No watch reports a changed ACL. Without our right, even an idle lock out of focus is soon unknown.
// It is known again once the right is restored.
func TestIdleLockNoticesRevokedRight(t *testing.T) {
	t.Parallel()
	start := map[string]func(*testing.T) *scene{
		"real": func(t *testing.T) *scene { return onServer(t, servertest.StartZooKeeper(t)) },
	}
	for name, cfg := range generations {
		start[name] = func(t *testing.T) *scene { return embedded(t, cfg) }
	}
	for name, start := range start {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.logIn("secret")
			s.queue("/l", "a")
			s.allow(s.queue("/private", "a", "b")[1], owners("secret"))
			v := s.watchHastily()
			known := func() {
				t.Helper()
				v.awaitState("/l", inspect.StateHeld)
				v.awaitState("/private", inspect.StateContended)
			}
			known()
			for _, p := range []string{"/l", "/private"} {
				s.allow(p, owners("secret"))
				v.awaitLock(p, "unknown", func(l *inspect.Lock) bool { return hidden(l, "READ on "+p) })
			}
			s.allow("/l", everyone)
			s.allow("/private", everyone)
			known()
		})
	}
}

// ZooKeeper accepts any digest. Only a refused read shows that the password has changed.
func TestRefusalLoadsNewCredentials(t *testing.T) {
	eachServer(t, func(_ *testing.T, s *scene) {
		s.logIn("old", "new")
		s.queue("/l", "a")
		s.allow("/l", owners("old"))
		s.cfg.Auth, s.cfg.NewAuth = []byte("ops:old"), func() []byte { return []byte("ops:new") }
		v := s.watchHastily()
		v.awaitState(s.root+"/l", inspect.StateHeld)
		s.allow("/l", owners("new"))
		s.join("/l", "b")
		v.awaitLock(s.root+"/l", "read with the new password", func(l *inspect.Lock) bool {
			return l.Contention() == 2 && len(l.Unseen) == 0
		})
	})
}

// Newer servers do not even report the creation of unreadable nodes. They are found nevertheless.
func TestUnreadableWaitersArePolled(t *testing.T) {
	t.Parallel()
	s := onServer(t, servertest.StartZooKeeper(t))
	s.queue("/l", "a")
	secret := func() string {
		t.Helper()
		return must.Have(s.conn.Create("/l/"+guid2+"__lock__", []byte("b"), contender, unreadable))(t)
	}
	v := s.watchHastily()
	v.awaitWaiters("/l", 0)
	first := secret()
	v.awaitLock("/l", "a waiter that may not be read", func(l *inspect.Lock) bool {
		return len(l.Waiters) == 1 && l.Unknown(inspect.AspectOwner)
	})
	second := secret()
	v.awaitWaiters("/l", 2)
	s.remove(second)
	s.remove(first)
	v.awaitWaiters("/l", 0)
}
