package lockops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// Each kind can be acquired, its session counts the requests, and other servers are refused.
func TestEveryKindCanBeHeld(t *testing.T) {
	t.Parallel()
	zookeeper := zkSession(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}).Addr)
	one := redisSession(t, servertest.StartEmbeddedRedis(t))
	three := redisSession(t, servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t))
	right := map[lockops.Servers]lockops.Session{lockops.OnZooKeeper: zookeeper, lockops.OnRedis: one, lockops.OnRedisMasters: three}
	wrong := map[lockops.Servers]lockops.Session{lockops.OnZooKeeper: one, lockops.OnRedis: zookeeper, lockops.OnRedisMasters: zookeeper}
	for _, k := range lockops.Kinds() {
		before := right[k.On].Requests()
		options := []lockops.Option{lockops.WithLabel("me")}
		if k.On != lockops.OnZooKeeper {
			options = append(options, patient)
		}
		l, err := k.New(right[k.On], "/kinds", options...)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		release(t, acquire(t, l))
		if sent := right[k.On].Requests() - before; sent < 2 || sent > 30 {
			t.Errorf("%s on %d: %d requests, want 2 to 30", k.Name, k.On, sent)
		}
		if _, err := k.New(wrong[k.On], "/kinds"); err == nil {
			t.Errorf("%s was created on the wrong servers", k.Name)
		}
		must.True(t, k.Permits >= 1, k.Name, "has no permits")
	}
}

// OnAsked reports arrival times by the master's clock, even if the lock is granted in another
// order.
func TestOnAskedReportsArrivalOrder(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		var asked []time.Time
		note := lockops.OnAsked(func(at time.Time) { asked = append(asked, at) })
		for range 3 {
			l := lockops.NewRedisMutex(redisSession(t, masters[0]), key, note)
			if h, err := l.TryAcquire(within(t)); err == nil {
				defer release(t, h)
			}
		}
		if len(asked) != 3 || !slices.IsSortedFunc(asked, time.Time.Compare) || time.Since(asked[0]).Abs() > time.Minute {
			t.Errorf("arrival times %v, want three recent ones in order", asked)
		}
	})
}
