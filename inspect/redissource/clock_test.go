package redissource_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// fairQueue writes the fair lock lock:a with waiters that came a minute ago by the server's clock.
// Each value is the time until the waiter's heartbeat expires.
func fairQueue(t *testing.T, m *servertest.Redis, waiters map[string]time.Duration) {
	t.Helper()
	c, ctx := m.Client(t), t.Context()
	now := must.Have(c.Time(ctx).Result())(t)
	set(t, m, "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), time.Hour)
	for waiter, left := range waiters {
		place := redis.Z{Score: float64(now.Add(-time.Minute).UnixMicro()), Member: waiter}
		must.Succeed(t, c.ZAdd(ctx, recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), place).Err())
		alive := recipe.LockscopeKey(recipe.AlivePrefix, "lock:a")
		must.Succeed(t, c.HSet(ctx, alive, waiter, now.Add(left).UnixMicro()).Err())
	}
}

// readLimited reads lock:a with its two contenders, as a user limited by ACL rules.
func readLimited(t *testing.T, m *servertest.Redis, rules string) inspect.Vote {
	t.Helper()
	viewed(t, m, rules)
	viewer := redis.NewClient(&redis.Options{Addr: m.Addr, Username: "viewer", Password: "pw"})
	defer viewer.Close()
	v := must.Have(node.ReadKey(t.Context(), time.Now, viewer, m.Addr, "lock:a", 30*time.Second))(t)
	if v.Held == nil || len(v.Held.Claims) != 2 {
		t.Fatalf("with %q: %+v", rules, v)
	}
	return v
}

// The server's clock is an hour behind. A waiter of a fair lock with a recent heartbeat by that clock
// is alive, whether TIME or INFO reports the clock. If neither may be read, TIME is named as missing.
func TestServersClockDatesFairWaiters(t *testing.T) {
	m, clock := servertest.StartRedisWithClock(t)
	clock.Step(t, -time.Hour)
	fairQueue(t, m, map[string]time.Duration{recipe.LockscopeToken([16]byte{2}, "waiter"): time.Minute}) // longer than the test runs
	for rules, unknown := range map[string]bool{"+time": false, "-time": false, "-time -info": true} {
		v := readLimited(t, m, rules)
		waiter := v.Held.Claims[1]
		must.True(t, !waiter.Dead, "dead with", rules)
		must.Equal(t, waiter.Since.IsZero(), unknown, "the start of its wait is unknown with", rules)
		must.True(t, unknown || time.Since(waiter.Since) < 30*time.Minute, "waits since", waiter.Since, "with", rules)
		missing := slices.ContainsFunc(v.Unseen, func(u inspect.Unseen) bool {
			return u.Read == "TIME" && u.Right == "+time"
		})
		must.Equal(t, missing, unknown, "TIME is missing with", rules, v.Unseen)
	}
}

// The user may read all helper keys of a fair lock except the heartbeats. The waiters are unknown,
// and granting the reported right is enough.
func TestMissingHeartbeatRightIsNamed(t *testing.T) {
	m := servertest.StartRedis(t)
	fairQueue(t, m, map[string]time.Duration{recipe.LockscopeToken([16]byte{2}, "waiter"): time.Minute})
	const rules = "resetkeys ~lock:* ~lockscope:queue:* ~lockscope:wait:* "
	missing := readLimited(t, m, rules).Unseen
	if len(missing) != 1 || missing[0].Aspect != inspect.AspectWaiters || missing[0].Right != "~lockscope:alive:{*}" {
		t.Fatalf("%+v", missing)
	}
	missing = readLimited(t, m, rules+missing[0].Right).Unseen
	must.Equal(t, len(missing), 0, "still missing with the reported right", missing)
}

// A killed waiter's heartbeats stop, but it stays in the queue until the next handoff.
func TestKilledFairWaiterIsDead(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	live, killed := recipe.LockscopeToken([16]byte{2}, "live"), recipe.LockscopeToken([16]byte{3}, "killed")
	fairQueue(t, m, map[string]time.Duration{live: time.Hour, killed: -3 * time.Second})
	l := once(t, config(m)).Locks["lock:a"]
	if l == nil || len(l.Waiters) != 2 {
		t.Fatalf("%+v", l)
	}
	for _, w := range l.Waiters {
		must.Equal(t, w.Dead, w.Name.Raw() == killed, w.Name, "dead")
	}
}
