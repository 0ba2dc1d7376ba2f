package zksource_test

import (
	"testing"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

func TestAllSessionsAreKnownWhenEveryServerTold(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		dead := "http://127.0.0.1:1"
		for _, tt := range []struct {
			admins []string
			all    bool
		}{{[]string{zks.Admin}, true}, {[]string{zks.Admin, dead}, false}} {
			v := once(t, zksource.Config{Servers: []string{zks.Addr}, Admin: tt.admins, Roots: []string{"/zookeeper"}})
			if len(v.Sessions) == 0 || v.All != tt.all {
				t.Errorf("%v: %d sessions, all of them: %v", tt.admins, len(v.Sessions), v.All)
			}
		}
	})
}

// A client that is killed and one that says good-bye leave the same way; the sessions distinguish them, although they are
// shorter than the usual time between two looks at them.
func TestAKilledClientsHoldHasExpired(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		for _, killed := range []bool{true, false} {
			t.Run(map[bool]string{true: "killed", false: "closed"}[killed], func(t *testing.T) {
				t.Parallel()
				c, root := client(t, zks), servertest.UniquePath(t)
				create(t, c, root, "", 0)
				peer := servertest.StartKazooLocks(t, zks.Addr)
				peer.Send(t, "timeout", "10") // the sessions have to be read between a third of it and its end
				peer.Send(t, "lock", "a", root+"/lock")
				peer.Expect(t, "acquired")
				o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}, Roots: []string{root}}, root+"/lock")
				o.awaitLock("its client is known", func(l *inspect.Lock) bool { return len(l.Holders) == 1 && l.Holders[0].Owner.Client != "" })
				if killed {
					peer.Kill()
				} else {
					peer.Send(t, "close", "a")
				}
				o.awaitLock("it is free", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
				want := inspect.EventReleased
				if killed {
					want = inspect.EventExpired
				}
				if len(o.events) != 1 || o.events[0].Kind != want || o.events[0].Certainty != recipe.Certain {
					t.Errorf("events %+v, want %s", o.events, want)
				}
			})
		}
	})
}

// Without the servers' sessions the two cannot be distinguished.
func TestWithoutSessionsAnEndIsUnsure(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		create(t, c, root, "", 0)
		peer := servertest.StartKazooLocks(t, zks.Addr)
		peer.Send(t, "timeout", "2")
		peer.Send(t, "lock", "a", root+"/lock")
		peer.Expect(t, "acquired")
		o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{"http://127.0.0.1:1"}, Roots: []string{root}}, root+"/lock")
		peer.Kill()
		o.awaitLock("it is free", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
		if len(o.events) != 1 || o.events[0].Kind != inspect.EventReleased || o.events[0].Certainty != recipe.Likely {
			t.Errorf("events %+v", o.events)
		}
	})
}
