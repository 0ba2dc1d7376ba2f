package zksource_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
	"lockscope/internal/zkserver"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// limit is how long a test waits for what should happen soon.
const limit = 20 * time.Second

// view keeps what a source emitted.
type view struct {
	t        *testing.T
	mu       sync.Mutex
	changed  chan struct{}
	locks    map[string]*inspect.Lock
	at       map[string]time.Time // when each lock was last put
	backend  *inspect.Backend
	sessions map[int64]inspect.Session
	watches  *inspect.WatchTable
	emitting bool
	updates  int
}

func newView(t *testing.T) *view {
	return &view{t: t, changed: make(chan struct{}), locks: map[string]*inspect.Lock{}, at: map[string]time.Time{}}
}

func (v *view) emit(u inspect.Update) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.emitting {
		v.t.Error("emit was called concurrently")
	}
	v.emitting = true
	defer func() { v.emitting = false }()
	v.updates++
	for _, l := range u.Put {
		v.locks[l.ID.Path], v.at[l.ID.Path] = l, time.Now()
	}
	for _, id := range u.Gone {
		delete(v.locks, id.Path)
	}
	if u.Backend != nil {
		v.backend = u.Backend
	}
	if u.Sessions != nil {
		v.sessions = u.Sessions
	}
	if u.Watches != nil {
		v.watches = u.Watches
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// await waits until ok says so; ok runs under the view's lock.
func (v *view) await(what string, ok func() bool) {
	v.t.Helper()
	timeout := time.After(limit)
	for {
		v.mu.Lock()
		done, changed := ok(), v.changed
		v.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			v.mu.Lock()
			defer v.mu.Unlock()
			v.t.Fatalf("%s: not within %v; backend %+v, locks %v", what, limit, v.backend, v.describe())
		}
	}
}

func (v *view) describe() []string {
	var lines []string
	for p, l := range v.locks {
		lines = append(lines, fmt.Sprintf("%s %s %s %d+%d", p, l.Recipe, l.State, len(l.Holders), len(l.Waiters)))
	}
	return lines
}

// watch runs a source until the test ends.
func watch(t *testing.T, cfg zksource.Config) (*view, *zksource.Source) {
	t.Helper()
	if cfg.Backend == "" {
		cfg.Backend = "zk"
	}
	v, s := newView(t), zksource.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, v.emit) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(limit):
			t.Error("Run did not return")
		}
	})
	return v, s
}

// once runs a source for one pass.
func once(t *testing.T, cfg zksource.Config) *view {
	t.Helper()
	cfg.Backend, cfg.Once = "zk", true
	v := newView(t)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := zksource.New(cfg).Run(ctx, v.emit); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("the one pass did not end")
	}
	return v
}

// client connects a plain client to a server.
func client(t *testing.T, zks *servertest.ZooKeeper) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{zks.Addr}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn
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
		check := func(t *testing.T, v *view) {
			for name := range prefixes {
				l := v.locks[root+"/"+name]
				if l == nil || l.Recipe != name || l.State != inspect.StateContended || len(l.Waiters) != 1 {
					t.Errorf("%s: %+v", name, l)
					continue
				}
				if got := l.Waiters[0].Owner.Label; got != "second" {
					t.Errorf("%s: the waiter's label is %q", name, got)
				}
				if l.Holders[0].Owner.Session == 0 || l.Holders[0].Since.IsZero() {
					t.Errorf("%s: holder %+v", name, l.Holders[0])
				}
			}
			if len(v.locks) != len(prefixes) {
				t.Errorf("locks: %v", v.describe())
			}
		}
		t.Run("watch", func(t *testing.T) {
			v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
			v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass })
			check(t, v)
		})
		t.Run("once", func(t *testing.T) {
			v := once(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
			check(t, v)
			if v.backend.Mode != inspect.ModeOnce || v.backend.State != inspect.Connected || v.backend.Cost.Watches != 0 {
				t.Errorf("backend: %+v", v.backend)
			}
		})
		t.Run("chroot", func(t *testing.T) {
			v := once(t, zksource.Config{Servers: []string{zks.Addr}, Chroot: root})
			if l := v.locks["/kazoo"]; l == nil || len(l.Waiters) != 1 {
				t.Errorf("locks: %v", v.describe())
			}
		})
	})
}

func TestChangesAreToldByThemselves(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass })

		create(t, c, root+"/new", "", 0)
		first := create(t, c, root+"/new/"+guid+"__lock__", "a", contender)
		v.await("a new lock directory appears", func() bool { return v.locks[root+"/new"] != nil })
		create(t, c, root+"/new/"+guid2+"__lock__", "b", contender)
		v.await("a waiter appears", func() bool { return v.locks[root+"/new"].State == inspect.StateContended })
		remove(t, c, first)
		v.await("the handoff is told", func() bool {
			l := v.locks[root+"/new"]
			return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "b"
		})
		remove(t, c, root+"/new/"+v.locks[root+"/new"].Holders[0].Name.Raw())
		v.await("an empty directory stays listed as free", func() bool {
			l := v.locks[root+"/new"]
			return l != nil && l.State == inspect.StateFree && l.Recipe == "kazoo"
		})
		remove(t, c, root+"/new")
		v.await("a deleted directory is gone", func() bool { return v.locks[root+"/new"] == nil })

		create(t, c, root+"/new", "", 0)
		create(t, c, root+"/new/sub", "", 0)
		create(t, c, root+"/new/sub/"+guid+"__lock__", "c", contender)
		v.await("made again, with a lock below it", func() bool { return v.locks[root+"/new/sub"] != nil })
	})
}

func TestARootMayAppearLater(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}})
		v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass })
		create(t, c, root, "", 0)
		create(t, c, root+"/"+guid+"__lock__", "a", contender)
		v.await("the root is a lock", func() bool { return v.locks[root] != nil })
	})
}

func TestOnlyOneDirectoryIsRead(t *testing.T) {
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
		l := v.locks[root]
		if l == nil || len(v.locks) != 1 || l.State != inspect.StateContended {
			t.Fatalf("locks: %v", v.describe())
		}
		if got := root + "/" + l.Waiters[0].Name.Raw(); got != waits {
			t.Errorf("waiter %s, want %s", got, waits)
		}
		session := v.sessions[l.Holders[0].Owner.Session]
		if session.Client == "" || session.Server != zks.Addr || session.Timeout == 0 {
			t.Errorf("the holder's session: %+v of %v", session, v.sessions)
		}
		if v.watches == nil || len(v.watches.Sessions[held]) != 1 || v.watches.Sessions[held][0] != c.SessionID() {
			t.Errorf("watches on %s: %+v", held, v.watches)
		}
		if role := v.backend.Servers[0].Role; role != "standalone" {
			t.Errorf("role %q", role)
		}
		free := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root + "/free"})
		if l := free.locks[root+"/free"]; l == nil || l.State != inspect.StateFree {
			t.Errorf("a named directory without contenders: %v", free.describe())
		}
		if none := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root + "/none"}); len(none.locks) != 0 {
			t.Errorf("a directory that does not exist: %v", none.describe())
		}
	})
}

func TestHotLockCostsABoundedNumberOfReads(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/hot", "", 0)
	v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass })
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
	v.await("the last state is right", func() bool {
		l := v.locks["/hot"]
		return l != nil && len(l.Holders) == 1 && "/hot/"+l.Holders[0].Name.Raw() == last && l.Holders[0].Owner.Label != ""
	})
	cost := func() (n uint64) {
		v.await("the cost is told", func() bool { n = v.backend.Cost.Requests; return n > 4 })
		return n
	}()
	took := time.Since(start).Seconds()
	if most := 20 + 2*4*(took+1); float64(cost) > most {
		t.Errorf("%d changes in %.1f s cost %d requests, more than %.0f", changes, took, cost, most)
	}
	t.Logf("%d changes in %.1f s cost %d requests", changes, took, cost)
}

func TestALostSessionLosesNothing(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	first := create(t, c, "/lock/"+guid+"__lock__", "a", contender)
	before := zks.Embedded.Sessions()
	v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass })
	for _, id := range zks.Embedded.Sessions() {
		if len(before) == 1 && id != before[0] {
			zks.Expire(t, id)
		}
	}
	v.await("down, with the lock still listed", func() bool {
		return v.backend.State == inspect.Down && v.backend.Error != "" && v.locks["/lock"] != nil
	})
	create(t, c, "/lock/"+guid2+"__lock__", "b", contender)
	remove(t, c, first)
	v.await("connected again", func() bool { return v.backend.State == inspect.Connected })
	v.await("and up to date", func() bool {
		l := v.locks["/lock"]
		return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "b"
	})
}

func TestAServerThatIsRestartedIsFoundAgain(t *testing.T) {
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	create(t, c, "/lock/x-", "a", zk.FlagSequence|zk.FlagEphemeral)
	v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass && v.locks["/lock"] != nil })
	zks.Kill(t)
	v.await("down", func() bool { return v.backend.State == inspect.Down })
	zks.Restart(t)
	v.await("connected again", func() bool { return v.backend.State == inspect.Connected })
	create(t, c, "/lock/x-", "b", zk.FlagSequence|zk.FlagEphemeral)
	v.await("the new waiter is seen", func() bool { return len(v.locks["/lock"].Waiters) == 1 })
}

func TestAServerThatHangsIsDown(t *testing.T) {
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	create(t, c, "/lock/x-", "a", contender)
	v, _ := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass && v.locks["/lock"] != nil })
	zks.Pause(t)
	v.await("down", func() bool { return v.backend.State == inspect.Down && v.backend.Error != "" })
	zks.Resume(t)
	v.await("connected again", func() bool { return v.backend.State == inspect.Connected })
}

func TestNobodyThereIsDown(t *testing.T) {
	const nobody = "127.0.0.1:1"
	start := time.Now()
	v := once(t, zksource.Config{Servers: []string{nobody}})
	if v.backend == nil || v.backend.State != inspect.Down || v.backend.Error == "" || v.backend.Servers[0].State != inspect.ServerDown {
		t.Errorf("backend: %+v", v.backend)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	w, _ := watch(t, zksource.Config{Servers: []string{nobody}})
	w.await("down", func() bool { return w.backend != nil && w.backend.State == inspect.Down })
}

func TestADirectoryThatMayNotBeReadIsSkipped(t *testing.T) {
	zks := servertest.StartZooKeeper(t)
	c := client(t, zks)
	create(t, c, "/open", "", 0)
	create(t, c, "/open/"+guid+"__lock__", "a", contender)
	if err := c.AddAuth("digest", []byte("ops:secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create("/shut", nil, 0, zk.DigestACL(zk.PermAll, "ops", "secret")); err != nil {
		t.Fatal(err)
	}
	create(t, c, "/shut/"+guid+"__lock__", "a", contender)
	v := once(t, zksource.Config{Servers: []string{zks.Addr}})
	if len(v.locks) != 1 || v.locks["/open"] == nil {
		t.Errorf("locks: %v", v.describe())
	}
	blind := false
	for _, f := range v.backend.Findings {
		blind = blind || f.Rule == "blind" && fmt.Sprint(f.Evidence["paths"]) == "[/shut]"
	}
	if !blind || v.backend.State != inspect.Connected {
		t.Errorf("backend: %+v", v.backend)
	}
	if v := once(t, zksource.Config{Servers: []string{zks.Addr}, Auth: []byte("ops:secret")}); v.locks["/shut"] == nil {
		t.Errorf("with credentials: %v", v.describe())
	}
}

func TestDirectoriesOverABudget(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/big", "", 0)
	for range 6 {
		create(t, c, "/big/"+guid+"__lock__", "", contender)
	}
	create(t, c, "/small", "", 0)
	create(t, c, "/small/"+guid+"__lock__", "a", contender)
	v := once(t, zksource.Config{Servers: []string{zks.Addr}, Budget: zksource.Budget{Children: 5}})
	if len(v.locks) != 1 || len(v.backend.Findings) == 0 {
		t.Errorf("too many children: %v, %+v", v.describe(), v.backend.Findings)
	}
	w, s := watch(t, zksource.Config{Servers: []string{zks.Addr}, Budget: zksource.Budget{Watches: 1}})
	w.await("first pass", func() bool { return w.backend != nil && w.backend.FirstPass })
	s.Focus([]inspect.ID{{Backend: "zk", Path: "/small"}})
	create(t, c, "/small/"+guid2+"__lock__", "b", contender)
	w.await("polled", func() bool { return len(w.locks["/small"].Waiters) == 1 })
	if w.backend.Cost.Watches > 1 {
		t.Errorf("%d watches", w.backend.Cost.Watches)
	}
}

func TestLongQueuesAreReadInFullWhenLookedAt(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/long", "", 0)
	for i := range 100 {
		create(t, c, "/long/"+guid+"__lock__", fmt.Sprint(i), contender)
	}
	v, s := watch(t, zksource.Config{Servers: []string{zks.Addr}})
	v.await("first pass", func() bool { return v.backend != nil && v.backend.FirstPass })
	l := v.locks["/long"]
	if len(l.Waiters) != 99 || l.Waiters[0].Owner.Label != "1" || l.Waiters[98].Owner.Label != "" {
		t.Errorf("counted only: %d waiters, %+v, %+v", len(l.Waiters), l.Waiters[0], l.Waiters[98])
	}
	s.Focus([]inspect.ID{l.ID})
	v.await("read in full", func() bool { return v.locks["/long"].Waiters[98].Owner.Label == "99" })
}
