package zksource_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

func TestKazooLeases(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		cfg := zksource.Config{Servers: []string{zks.Addr}, Roots: []string{root}}
		v, _ := watch(t, cfg)
		python := servertest.StartKazooLocks(t, zks.Addr)
		python.Tell(t, "lease", "a", root+"/lease", "3600")
		python.Expect(t, "acquired lease a")
		python.Tell(t, "lease", "b", root+"/lease", "3600")
		python.Expect(t, "refused lease b")
		for _, name := range []string{"a", "b", "c"} { // there are two
			python.Tell(t, "leases", name, root+"/many", "3600")
			python.Expect(t, map[bool]string{true: "refused", false: "acquired"}[name == "c"])
		}
		held := func(l *inspect.Lock, by inspect.Untrusted) bool {
			return l != nil && l.State == inspect.StateHeld && len(l.Holders) == 1 && l.Holders[0].Owner.Label == by && time.Until(l.Holders[0].ExpiresAt) > time.Minute
		}
		v.Await("three are held", func() bool {
			return len(v.Locks) == 3 && held(v.Locks[root+"/lease"], "a") && held(v.Locks[root+"/many/0"], "a") && held(v.Locks[root+"/many/1"], "b")
		})
		if w := once(t, cfg); len(w.Locks) != 3 || !held(w.Locks[root+"/lease"], "a") {
			t.Errorf("one pass: %v", w.Describe())
		}
		if w := once(t, zksource.Config{Servers: []string{zks.Addr}, Only: root + "/lease"}); !held(w.Locks[root+"/lease"], "a") {
			t.Errorf("named: %v", w.Describe())
		}
		remove(t, c, root+"/lease/lease_holder")
		v.Await("it is free", func() bool { return v.Locks[root+"/lease"].State == inspect.StateFree })
	})
}

func TestALeaseIsRenewedAndExpires(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		o := inspect.NewObserver(time.Now, zksource.New(zksource.Config{Backend: "zk", Servers: []string{zks.Addr}, Roots: []string{root}}))
		sub := o.Subscribe()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		done := make(chan error, 1)
		go func() { done <- o.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		id := inspect.ID{Backend: "zk", Path: root + "/lease"}
		var kinds []inspect.EventKind
		await := func(what string, ok func(*inspect.Lock) bool) {
			t.Helper()
			for l := o.Snapshot().Lock(id); l == nil || !ok(l); l = o.Snapshot().Lock(id) {
				u, err := sub.Next(ctx)
				if err != nil {
					t.Fatalf("%s: %v; %+v", what, err, l)
				}
				for _, e := range u.Events {
					if e.Lock == id && e.Kind != inspect.EventWaiting && e.Kind != inspect.EventGone {
						kinds = append(kinds, e.Kind)
					}
				}
			}
		}
		for s := o.Snapshot(); len(s.Backends) == 0 || !s.Backends[0].FirstPass; s = o.Snapshot() {
			if _, err := sub.Next(ctx); err != nil {
				t.Fatal(err)
			}
		}
		python := servertest.StartKazooLocks(t, zks.Addr)
		end := time.Now()
		for _, seconds := range []string{"100", "200", "300", "400", "3"} {
			python.Tell(t, "lease", "a", id.Path, seconds)
			python.Expect(t, "acquired")
			await("it lasts "+seconds+" s", func(l *inspect.Lock) bool {
				if len(l.Holders) != 1 || l.State != inspect.StateHeld || l.Holders[0].ExpiresAt.Equal(end) || l.Holders[0].Name != "lease_holder" {
					return false
				}
				end = l.Holders[0].ExpiresAt
				return true
			})
		}
		await("it is over", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
		python.Tell(t, "lease", "b", id.Path, "100")
		python.Expect(t, "acquired")
		await("another has it", func(l *inspect.Lock) bool { return l.State == inspect.StateHeld && l.Holders[0].Owner.Label == "b" })
		want := []inspect.EventKind{inspect.EventAppeared, inspect.EventAcquired, inspect.EventExpired, inspect.EventAcquired}
		if kinds = slices.DeleteFunc(kinds, func(k inspect.EventKind) bool { return k == inspect.EventFinding || k == inspect.EventCleared }); !slices.Equal(kinds, want) {
			t.Errorf("events %v, want %v", kinds, want)
		}
	})
}
