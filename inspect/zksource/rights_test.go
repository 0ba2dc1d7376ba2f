package zksource_test

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

type shapeNode struct {
	path, data string
	flags      int32
}

// shaped creates the nodes of a lock, as testdata/libraries.txtar describes it. It returns their paths
// below the root, and that of the lock.
func (s *scene) shaped(shape string) (nodes []string, lock string) {
	s.t.Helper()
	for line := range strings.Lines(shape) {
		words := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "")
		kind, path, data := words[0], strings.ReplaceAll(words[1], "SESSION", fmt.Sprint(s.conn.SessionID())), words[2]
		if text, err := strconv.Unquote(data); err == nil {
			data = text
		}
		if strings.Contains(kind, "*") {
			lock = path
		}
		nodes = append(nodes, strings.TrimPrefix(s.create(path, data, flagsOf(kind)), s.root))
	}
	return nodes, lock
}

// flagsOf are the flags of a kind of node, in letters.
func flagsOf(kind string) (flags int32) {
	if strings.Contains(kind, "e") {
		flags |= zk.FlagEphemeral
	}
	if strings.Contains(kind, "s") {
		flags |= zk.FlagSequence
	}
	return flags
}

// unreadable is an ACL that permits everything except reading.
var unreadable = []zk.ACL{{Perms: zk.PermAll &^ zk.PermRead, Scheme: "world", ID: "anyone"}}

// Each node of a lock is made unreadable, alone and in pairs. No lock disappears or becomes free, no
// waiter disappears, and the missing right is named.
func TestUnreadableNodesAreUnknown(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, unreadableNodes)
}

func unreadableNodes(t *testing.T, zks *servertest.ZooKeeper) {
	for _, library := range must.Have(txtar.ParseFile("testdata/libraries.txtar"))(t).Files {
		t.Run(library.Name, func(t *testing.T) {
			t.Parallel()
			s := inDirectory(t, zks)
			nodes, lock := s.shaped(string(library.Data))
			nodes = append(nodes, "")
			whole := view{s.once()}
			l := whole.Locks[s.root+lock]
			if l == nil || len(whole.Locks) != 1 {
				t.Fatalf("locks: %v", whole.Describe())
			}
			must.True(t, l.Unseen == nil && whole.Backend.Unseen == nil, "unseen", l.Unseen, whole.Backend.Unseen)
			recipe, _, _ := strings.Cut(library.Name, " ")
			must.Equal(t, l.Recipe, recipe, "recipe")
			for i, first := range nodes {
				for _, second := range nodes[i:] {
					t.Run(path.Base(s.root+first)+" "+path.Base(s.root+second), func(t *testing.T) {
						for _, unlimited := range []bool{false, true} {
							if unlimited && first != second {
								continue // an unlimited read walks differently, tested on single nodes
							}
							s.allow(first, unreadable)
							s.allow(second, unreadable)
							cfg := s.cfg
							cfg.Budget.Unlimited = unlimited
							v := view{once(t, cfg)}
							s.allow(first, everyone)
							s.allow(second, everyone)
							v.compare(t, whole, zks.Addr, s.root+first, s.root+second)
						}
					})
				}
			}
		})
	}
}

// view is what a source shows.
type view struct{ *sourcetest.View }

// compare expects the same report as with full rights, except for unknown facts.
func (v view) compare(t *testing.T, whole view, addr string, denied ...string) {
	t.Helper()
	named := func(list []inspect.Unseen) {
		for _, u := range list {
			node, right := strings.CutPrefix(u.Right, "READ on ")
			if !right || !slices.Contains(denied, node) || u.Where != addr || u.Reason == "" || !strings.HasSuffix(u.Read, " "+node) {
				t.Errorf("without %v, wrong unseen %+v", denied, u)
			}
		}
	}
	named(v.Backend.Unseen)
	for p, was := range whole.Locks {
		l := v.Locks[p]
		if l == nil {
			hidden := slices.ContainsFunc(v.Backend.Unseen, func(u inspect.Unseen) bool {
				_, node, _ := strings.Cut(u.Read, " ")
				return u.Aspect == inspect.AspectLocks && strings.HasPrefix(p+"/", node+"/")
			})
			must.True(t, hidden, p, "disappeared; unseen", v.Backend.Unseen)
			continue
		}
		named(l.Unseen)
		if l.State != was.State && !(l.State == inspect.StateUnknown && l.Unknown(inspect.AspectHolders)) &&
			!(l.State == inspect.StateHeld && l.Unknown(inspect.AspectWaiters)) {
			t.Errorf("%s, was %s; unseen %+v", l.State, was.State, l.Unseen)
		}
		compareContenders(t, was.Holders, l.Holders, l.Unknown(inspect.AspectHolders), l.Unknown(inspect.AspectOwner))
		compareContenders(t, was.Waiters, l.Waiters, l.Unknown(inspect.AspectWaiters), l.Unknown(inspect.AspectOwner))
		if !l.Unknown(inspect.AspectKind) && !l.Unknown(inspect.AspectHolders) {
			must.Equal(t, l.Kind, was.Kind, "kind")
			must.Equal(t, l.Recipe, was.Recipe, "recipe")
			must.Equal(t, l.Limit, was.Limit, "limit")
		}
	}
	for p, l := range v.Locks {
		must.True(t, whole.Locks[p] != nil, p, "is not a lock", l)
	}
}

// compareContenders expects the same contenders, sessions and ages, unless all are unknown.
func compareContenders(t *testing.T, was, is []inspect.Contender, unknown, unlabelled bool) {
	t.Helper()
	if unknown && len(is) == 0 {
		return
	}
	if len(is) != len(was) {
		t.Errorf("%d contenders, were %d", len(is), len(was))
		return
	}
	for i := range is {
		a, b := was[i], is[i]
		must.Equal(t, b.Name, a.Name, "name")
		must.Equal(t, b.Owner.Session, a.Owner.Session, "session")
		must.True(t, b.Since.Equal(a.Since), "since", b.Since, "was", a.Since)
		must.True(t, b.Owner.Label == a.Owner.Label || unlabelled && b.Owner.Label == "", "label", b.Owner, "was", a.Owner)
		must.Equal(t, b.State, a.State, "state")
	}
}

func TestMissingRootIsReportedUnseen(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		root, absent := s.root, s.root+"x"
		for name, tt := range map[string]struct {
			cfg  zksource.Config
			read string
		}{
			"root":                {zksource.Config{Roots: []string{root, absent}}, "exists " + absent},
			"root below a chroot": {zksource.Config{Chroot: root, Roots: []string{"/x"}}, "exists " + root + "/x"},
			"chroot":              {zksource.Config{Chroot: absent}, "exists " + absent},
			"chroot of a root":    {zksource.Config{Chroot: absent, Roots: []string{"/a", "/b"}}, "exists " + absent},
			"chroot of one lock":  {zksource.Config{Chroot: absent, Only: "/l"}, "exists " + absent},
			"a missing lock":      {zksource.Config{Only: root + "/l"}, ""},
			"nothing missing":     {zksource.Config{Roots: []string{root}}, ""},
		} {
			tt.cfg.Servers = s.cfg.Servers
			b := once(t, tt.cfg).Backend
			var reads []string
			for _, u := range b.Unseen {
				if u.Aspect == inspect.AspectLocks && u.Where == s.zks.Addr && u.Right == "" {
					reads = append(reads, u.Read)
				}
			}
			must.Equal(t, strings.Join(reads, ","), tt.read, name, b.Unseen)
			must.Equal(t, b.State, inspect.Connected, name)
		}
	})
}

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

func TestLockOverBudgetIsUnknown(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	s.cfg.Budget = zksource.Budget{Children: 5}
	nodes := s.queue("/big", "a", "a", "a")
	v := s.watchHastily()
	v.awaitState("/big", inspect.StateContended)
	v.focus("/big")
	for range 4 {
		nodes = append(nodes, s.join("/big", "a"))
	}
	v.awaitLock("/big", "unknown", func(l *inspect.Lock) bool { return hidden(l, "") })
	v.Peek(func() { must.Equal(t, brief(v.Locks["/big"]), "kazoo mutex unknown 0+0") })
	w := s.named("/big")
	must.True(t, hidden(w.Locks["/big"], ""), "requested by name", w.Describe())
	for _, node := range nodes[:4] {
		s.remove(node)
	}
	v.awaitLock("/big", "known again", func(l *inspect.Lock) bool { return l.Contention() == 3 && len(l.Unseen) == 0 })
}

func TestUnreadableLockIsUnknown(t *testing.T) {
	s := onReal(t)
	s.queue("/l", "a")
	v := s.watchHastily()
	v.focus("/l")
	v.awaitState("/l", inspect.StateHeld)
	s.logIn("secret")
	s.allow("/l", owners("secret"))
	s.join("/l", "b")
	v.awaitLock("/l", "unknown", func(l *inspect.Lock) bool { return hidden(l, "READ on /l") })
	v.Peek(func() {
		must.Equal(t, brief(v.Locks["/l"]), "kazoo mutex unknown 0+0")
		must.Equal(t, v.Backend.State, inspect.Connected)
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
			must.Equal(t, hidden(w.Locks["/l"], "READ on /l"), cfg.Only != "", name, "as", user, w.Describe())
		}
	}
}

// ownServers starts a server of the test's own, of each kind.
func ownServers() map[string]func(*testing.T) *scene {
	start := map[string]func(*testing.T) *scene{
		"real": func(t *testing.T) *scene { return onReal(t) },
	}
	for name, cfg := range generations {
		start[name] = func(t *testing.T) *scene { return onEmbedded(t, cfg) }
	}
	return start
}

// No watch reports a changed ACL. Without our right, even an idle lock out of focus is soon unknown.
// It is known again once the right is restored.
func TestIdleLockNoticesRevokedRight(t *testing.T) {
	t.Parallel()
	for name, start := range ownServers() {
		t.Run(name, func(t *testing.T) {
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
	s := onReal(t)
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
