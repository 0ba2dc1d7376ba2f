package zksource_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestCompleteSessionsNeedEveryServer(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		dead := "http://127.0.0.1:1"
		for _, tt := range []struct {
			admins []string
			all    bool
		}{{[]string{zks.Admin}, true}, {[]string{zks.Admin, dead}, false}} {
			v := once(t, zksource.Config{Servers: []string{zks.Addr}, Admin: tt.admins, Roots: []string{"/zookeeper"}})
			if len(v.Sessions) == 0 || v.All != tt.all {
				t.Errorf("%v: %d sessions, all known: %v", tt.admins, len(v.Sessions), v.All)
			}
		}
	})
}

// The node of a killed client disappears like that of a closed one. The sessions distinguish them,
// even if their timeout is shorter than the usual interval between inquiries.
func TestKilledClientsHoldExpires(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		for _, killed := range []bool{true, false} {
			t.Run(map[bool]string{true: "killed", false: "closed"}[killed], func(t *testing.T) {
				t.Parallel()
				for try := 1; ; try++ {
					e, undisturbed := endOfAHold(t, zks, killed)
					switch {
					case killed && !undisturbed && try < 5 && e.Kind == inspect.EventReleased && e.Certainty == recipe.Likely:
						continue // after a recent disturbance, the client may have reconnected and released
					case killed && e.Kind == inspect.EventExpired, !killed && e.Kind == inspect.EventReleased:
						if e.Certainty == recipe.Certain {
							return
						}
					}
					t.Fatalf("event %+v, undisturbed %v", e, undisturbed)
				}
			})
		}
	})
}

// endOfAHold acquires a lock with a client, ends the client and returns the event. undisturbed
// reports whether clients had no reason to reconnect during the session timeout before that.
func endOfAHold(t *testing.T, zks *servertest.ZooKeeper, killed bool) (end inspect.Event, undisturbed bool) {
	t.Helper()
	const timeout = 6
	c, root := client(t, zks), servertest.UniquePath(t)
	create(t, c, root, "", 0)
	peer := servertest.StartKazooLocks(t, zks.Addr)
	peer.Send(t, "timeout", strconv.Itoa(timeout))
	peer.Send(t, "lock", "a", root+"/lock")
	peer.Expect(t, "acquired")
	o := follow(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}, Roots: []string{root}}, root+"/lock")
	o.awaitLock("the holder's client", func(l *inspect.Lock) bool { return len(l.Holders) == 1 && l.Holders[0].Owner.Client != "" })
	ended := time.Now()
	if killed {
		peer.Kill()
	} else {
		peer.Send(t, "close", "a")
	}
	o.awaitLock("it is free", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
	if len(o.events) != 1 {
		t.Fatalf("events %+v", o.events)
	}
	disturbed := o.seen.Backends[0].DisturbedAt
	return o.events[0], disturbed.Before(ended.Add(-timeout * time.Second))
}

// Without the sessions, an expiry looks like a release.
func TestEndIsUncertainWithoutSessions(t *testing.T) {
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
