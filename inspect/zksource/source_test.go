package zksource_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// watch runs a source until the test ends.
func watch(t *testing.T, cfg zksource.Config) (*sourcetest.View, *zksource.Source) {
	t.Helper()
	if cfg.Backend == "" {
		cfg.Backend = "zk"
	}
	s := zksource.New(cfg)
	return sourcetest.Watch(t, s), s
}

// watchHastily is watch with short intervals.
func watchHastily(t *testing.T, cfg zksource.Config) (*sourcetest.View, *zksource.Source) {
	t.Helper()
	cfg.Backend = "zk"
	s := zksource.NewHasty(cfg)
	return sourcetest.Watch(t, s), s
}

// once runs a source for one pass.
func once(t *testing.T, cfg zksource.Config) *sourcetest.View {
	t.Helper()
	cfg.Backend, cfg.Once = "zk", true
	return sourcetest.Once(t, zksource.New(cfg))
}

// client connects a plain client to a server.
func client(t *testing.T, zks *servertest.ZooKeeper) *zk.Conn {
	t.Helper()
	return clientFor(t, zks, 10*time.Second)
}

// clientFor is client with that session timeout. After a pause of 2/3 of it, a client reconnects.
func clientFor(t *testing.T, zks *servertest.ZooKeeper, timeout time.Duration) *zk.Conn {
	t.Helper()
	return servertest.ConnectZooKeeper(t, zks.Addr, timeout)
}

func create(t *testing.T, c *zk.Conn, p string, data string, flags int32) string {
	t.Helper()
	made, err := c.Create(p, []byte(data), flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatalf("create %s: %v", p, err)
	}
	return made
}

func remove(t *testing.T, c *zk.Conn, p string) {
	t.Helper()
	if err := c.Delete(p, -1); err != nil {
		t.Fatalf("delete %s: %v", p, err)
	}
}

const contender = zk.FlagEphemeral | zk.FlagSequence

const (
	guid  = "0123456789abcdef0123456789abcdef"
	guid2 = "fedcba9876543210fedcba9876543210"
	uuid  = "01234567-89ab-cdef-0123-456789abcdef"
)

func TestFindsLocksOfEveryRecipe(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		prefixes := map[string]string{
			"curator": "_c_" + uuid + "-lock-", "kazoo": guid + "__lock__",
			"go-zookeeper": "_c_" + guid + "-lock-", "sequential": "foo",
		}
		for name, prefix := range prefixes {
			create(t, c, root+"/"+name, "", 0)
			create(t, c, root+"/"+name+"/"+prefix, "first", contender)
			create(t, c, root+"/"+name+"/"+prefix, "second", contender)
		}
		create(t, c, root+"/queue", "", 0)
		create(t, c, root+"/queue/item-", "work", zk.FlagSequence)
		check := func(t *testing.T, v *sourcetest.View) {
			for name := range prefixes {
				l := v.Locks[root+"/"+name]
				if l == nil || l.Recipe != name || l.State != inspect.StateContended || len(l.Waiters) != 1 {
					t.Errorf("%s: %+v", name, l)
					continue
				}
				must.Equal(t, l.Waiters[0].Owner.Label, "second", name, "the waiter's label")
				if l.Holders[0].Owner.Session == 0 || l.Holders[0].Since.IsZero() {
					t.Errorf("%s: holder %+v", name, l.Holders[0])
				}
			}
			must.Equal(t, len(v.Locks), len(prefixes), "locks", v.Describe())
		}
		t.Run("watch", func(t *testing.T) {
			v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
			v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
			v.Peek(func() { check(t, v) })
		})
		t.Run("once", func(t *testing.T) {
			v := once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
			check(t, v)
			if v.Backend.Mode != inspect.ModeOnce || v.Backend.State != inspect.Connected || v.Backend.Cost.Watches != 0 {
				t.Errorf("backend: %+v", v.Backend)
			}
		})
		t.Run("chroot", func(t *testing.T) {
			v := once(t, zksource.Config{Servers: []string{zks.Addr}, Chroot: root})
			if l := v.Locks["/kazoo"]; l == nil || len(l.Waiters) != 1 {
				t.Errorf("locks: %v", v.Describe())
			}
		})
	})
}

func TestWatchReportsChanges(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })

		create(t, c, root+"/new", "", 0)
		first := create(t, c, root+"/new/"+guid+"__lock__", "a", contender)
		v.Await("a new lock directory", func() bool { return v.Locks[root+"/new"] != nil })
		create(t, c, root+"/new/"+guid2+"__lock__", "b", contender)
		v.Await("a waiter", func() bool { return v.Locks[root+"/new"].State == inspect.StateContended })
		remove(t, c, first)
		var l *inspect.Lock
		v.Await("the handoff", func() bool {
			l = v.Locks[root+"/new"]
			return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "b"
		})
		remove(t, c, root+"/new/"+l.Holders[0].Name.Raw())
		v.Await("the empty directory listed as free", func() bool {
			l := v.Locks[root+"/new"]
			return l != nil && l.State == inspect.StateFree && l.Recipe == "kazoo"
		})
		remove(t, c, root+"/new")
		v.Await("the deleted directory gone", func() bool { return v.Locks[root+"/new"] == nil })

		create(t, c, root+"/new", "", 0)
		create(t, c, root+"/new/sub", "", 0)
		create(t, c, root+"/new/sub/"+guid+"__lock__", "c", contender)
		v.Await("a lock below the recreated directory", func() bool { return v.Locks[root+"/new/sub"] != nil })
	})
}

func TestARootMayAppearLater(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
		create(t, c, root, "", 0)
		create(t, c, root+"/"+guid+"__lock__", "a", contender)
		v.Await("the root as a lock", func() bool { return v.Locks[root] != nil })
	})
}

func TestOnlyTheNamedDirectoryIsRead(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		create(t, c, root+"/free", "", 0)
		held := create(t, c, root+"/"+guid+"__lock__", "a", contender)
		waits := create(t, c, root+"/"+guid2+"__lock__", "b", contender)
		if _, _, _, err := c.GetW(held); err != nil { // as a waiter does
			t.Fatal(err)
		}
		v := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root, Admin: []string{zks.Admin}})
		l := v.Locks[root]
		if l == nil || len(v.Locks) != 1 || l.State != inspect.StateContended {
			t.Fatalf("locks: %v", v.Describe())
		}
		must.Equal(t, root+"/"+l.Waiters[0].Name.Raw(), waits, "waiter")
		session := v.Sessions[l.Holders[0].Owner.Session]
		if session.Client == "" || session.Server != zks.Addr || session.Timeout == 0 {
			t.Errorf("the holder's session: %+v of %v", session, v.Sessions)
		}
		if v.Watches == nil || len(v.Watches.Sessions[held]) != 1 || v.Watches.Sessions[held][0] != c.SessionID() {
			t.Errorf("watches on %s: %+v", held, v.Watches)
		}
		must.Equal(t, v.Backend.Servers[0].Role, "standalone", "role")
		free := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root + "/free"})
		if l := free.Locks[root+"/free"]; l == nil || l.State != inspect.StateFree {
			t.Errorf("a named directory without contenders: %v", free.Describe())
		}
		if none := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root + "/none"}); len(none.Locks) != 0 {
			t.Errorf("a directory that does not exist: %v", none.Describe())
		}
	})
}

func TestHotLockReadsAreBounded(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/hot", "", 0)
	v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
	start := time.Now()
	changes := 0
	last := ""
	for time.Since(start) < 2*time.Second {
		if last != "" {
			remove(t, c, last)
		}
		last = create(t, c, "/hot/"+guid+"__lock__", fmt.Sprint(changes), contender)
		changes += 2
	}
	v.Await("the last state", func() bool {
		l := v.Locks["/hot"]
		return l != nil && len(l.Holders) == 1 && "/hot/"+l.Holders[0].Name.Raw() == last && l.Holders[0].Owner.Label != ""
	})
	cost := func() (n uint64) {
		v.Await("the cost", func() bool { n = v.Backend.Cost.Requests; return n > 4 })
		return n
	}()
	took := time.Since(start).Seconds()
	if most := 20 + 2*4*(took+1); float64(cost) > most {
		t.Errorf("%d changes in %.1f s cost %d requests, more than %.0f", changes, took, cost, most)
	}
	t.Logf("%d changes in %.1f s cost %d requests", changes, took, cost)
}

func TestALostSessionLosesNothing(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	first := create(t, c, "/lock/"+guid+"__lock__", "a", contender)
	before := zks.Embedded.Sessions()
	v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
	for _, id := range zks.Embedded.Sessions() {
		if len(before) == 1 && id != before[0] {
			zks.Expire(t, id)
		}
	}
	v.Await("down, with the lock listed", func() bool {
		return v.Backend.State == inspect.Down && v.Backend.Error != "" && v.Locks["/lock"] != nil
	})
	create(t, c, "/lock/"+guid2+"__lock__", "b", contender)
	remove(t, c, first)
	v.Await("connected again", func() bool { return v.Backend.State == inspect.Connected })
	v.Await("up to date", func() bool {
		l := v.Locks["/lock"]
		return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "b"
	})
}

func TestRestartedServerIsFoundAgain(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := clientFor(t, zks, 40*time.Second)
	create(t, c, "/lock", "", 0)
	create(t, c, "/lock/x-", "a", zk.FlagSequence|zk.FlagEphemeral)
	v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass && v.Locks["/lock"] != nil })
	zks.Kill(t)
	v.Await("down", func() bool { return v.Backend.State == inspect.Down })
	zks.Restart(t)
	v.Await("connected again", func() bool { return v.Backend.State == inspect.Connected })
	// The first client may hang for a minute if it connected before the server served.
	create(t, client(t, zks), "/lock/x-", "b", zk.FlagSequence|zk.FlagEphemeral)
	v.Await("the new waiter", func() bool { return len(v.Locks["/lock"].Waiters) == 1 })
}

func TestAServerThatHangsIsDown(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	create(t, c, "/lock/x-", "a", contender)
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
	v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass && v.Locks["/lock"] != nil })
	zks.Pause(t)
	v.Await("down", func() bool { return v.Backend.State == inspect.Down && v.Backend.Error != "" })
	zks.Resume(t)
	v.Await("connected again", func() bool { return v.Backend.State == inspect.Connected })
}

func TestUnreachableServerIsDown(t *testing.T) {
	t.Parallel()
	const closedPort = "127.0.0.1:1"
	start := time.Now()
	v := once(t, zksource.Config{Servers: []string{closedPort}})
	if v.Backend == nil || v.Backend.State != inspect.Down || v.Backend.Error == "" || v.Backend.Servers[0].State != inspect.ServerDown {
		t.Errorf("backend: %+v", v.Backend)
	}
	if took := time.Since(start); took > 40*time.Second {
		t.Errorf("took %v", took)
	}
	w, _ := watch(t, zksource.Config{Servers: []string{closedPort}})
	w.Await("down", func() bool { return w.Backend != nil && w.Backend.State == inspect.Down })
}

func TestUnreadableDirectoryIsSkipped(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/open", "", 0)
	create(t, c, "/open/"+guid+"__lock__", "a", contender)
	must.Succeed(t, c.AddAuth("digest", []byte("ops:secret")))
	must.Have(c.Create("/shut", nil, 0, zk.DigestACL(zk.PermAll, "ops", "secret")))(t)
	create(t, c, "/shut/"+guid+"__lock__", "a", contender)
	v := once(t, zksource.Config{Servers: []string{zks.Addr}})
	if len(v.Locks) != 1 || v.Locks["/open"] == nil {
		t.Errorf("locks: %v", v.Describe())
	}
	blind := slices.ContainsFunc(v.Backend.Unseen, func(u inspect.Unseen) bool {
		return u.Aspect == inspect.AspectLocks && u.Read == "getChildren /shut" && u.Right == "READ on /shut" && u.Where == zks.Addr
	})
	if !blind || v.Backend.State != inspect.Connected {
		t.Errorf("backend: %+v", v.Backend)
	}
	if v := once(t, zksource.Config{Servers: []string{zks.Addr}, Auth: []byte("ops:secret")}); v.Locks["/shut"] == nil {
		t.Errorf("with credentials: %v", v.Describe())
	}
}

func TestOverfullDirectoryIsNotListed(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{WithoutAddWatch: true})
	c := client(t, zks)
	create(t, c, "/big", "", 0)
	for range 6 {
		create(t, c, "/big/"+guid+"__lock__", "", contender)
	}
	create(t, c, "/small", "", 0)
	create(t, c, "/small/"+guid+"__lock__", "a", contender)
	v := once(t, zksource.Config{Servers: []string{zks.Addr}, Budget: zksource.Budget{Children: 5}})
	if len(v.Locks) != 1 || !v.Backend.Unknown(inspect.AspectLocks) {
		t.Errorf("too many children: %v, %+v", v.Describe(), v.Backend.Findings)
	}
	w, s := watchHastily(t, zksource.Config{Servers: []string{zks.Addr}})
	w.Await("first pass", func() bool { return w.Backend != nil && w.Backend.FirstPass })
	s.Focus([]inspect.ID{{Backend: "zk", Path: "/small"}})
	create(t, c, "/small/"+guid2+"__lock__", "b", contender)
	w.Await("polled", func() bool { return len(w.Locks["/small"].Waiters) == 1 })
	w.Peek(func() {
		must.True(t, w.Backend.Cost.Watches == 0, w.Backend.Cost.Watches, "watches")
	})
}

func TestFocusReadsLongQueuesInFull(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{WithoutMultiRead: true})
	c := client(t, zks)
	create(t, c, "/long", "", 0)
	for i := range 100 {
		create(t, c, "/long/"+guid+"__lock__", fmt.Sprint(i), contender)
	}
	v, s := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	var l *inspect.Lock
	v.Await("first pass", func() bool { l = v.Locks["/long"]; return v.Backend != nil && v.Backend.FirstPass })
	if len(l.Waiters) != 99 || l.Waiters[0].Owner.Label != "1" || l.Waiters[98].Owner.Label != "" {
		t.Errorf("counted only: %d waiters, %+v, %+v", len(l.Waiters), l.Waiters[0], l.Waiters[98])
	}
	s.Focus([]inspect.ID{l.ID})
	v.Await("the queue in full", func() bool { return v.Locks["/long"].Waiters[98].Owner.Label == "99" })
}

func TestDirectoriesNamedLikeContendersAreWalked(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		for i := range 100 {
			create(t, c, fmt.Sprintf("%s/user-%d", root, 1000000000+i), "", 0)
		}
		v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.Await("first pass", func() bool { return v.Backend != nil && v.Backend.FirstPass })
		start := time.Now()
		for _, dir := range []string{root + "/user-1000000003", root + "/user-1000000090"} {
			create(t, c, dir+"/"+guid+"__lock__", "a", contender)
			v.Await("the lock", func() bool { return v.Locks[dir] != nil })
		}
		if took := time.Since(start); took > 40*time.Second {
			t.Errorf("found after %v", took)
		}
		v.Peek(func() {
			must.True(t, v.Locks[root] == nil, "locks", v.Describe())
		})
		if v := once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}); len(v.Locks) != 2 {
			t.Errorf("one pass: %v", v.Describe())
		}
	})
}
