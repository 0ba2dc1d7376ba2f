package redissource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The server's clock is an hour behind. A waiter of a fair lock with a recent heartbeat by that clock
// is alive, whether TIME or INFO reports the clock. If neither may be read, TIME is named as missing.
func TestServersClockDatesFairWaiters(t *testing.T) {
	m, clock := servertest.StartRedisWithClock(t)
	clock.Step(t, -time.Hour)
	c, ctx := client(t, m), t.Context()
	now := must.Have(c.Time(ctx).Result())(t)
	waiter := recipe.LockscopeToken([16]byte{2}, "waiter")
	came := float64(now.Add(-time.Minute).UnixMicro())
	set(t, m, "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), time.Hour)
	c.ZAdd(ctx, recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), redis.Z{Score: came, Member: waiter})
	c.HSet(ctx, recipe.LockscopeKey(recipe.AlivePrefix, "lock:a"), waiter, fmt.Sprint(now.Add(time.Minute).UnixMicro())) // longer than the test runs
	for name, denied := range map[string]string{"TIME": "+time", "INFO": "-time", "nothing": "-time -info"} {
		rules := []any{"acl", "setuser", "viewer", "reset", "on", ">pw", "allkeys", "allchannels", "+@all"}
		for rule := range strings.FieldsSeq(denied) {
			rules = append(rules, rule)
		}
		must.Succeed(t, c.Do(ctx, rules...).Err())
		viewer := redis.NewClient(&redis.Options{Addr: m.Addr, Username: "viewer", Password: "pw"})
		v, err := node.ReadKey(ctx, time.Now, viewer, m.Addr, "lock:a", 30*time.Second)
		viewer.Close()
		if err != nil || v.Held == nil || len(v.Held.Claims) != 2 || v.Held.Claims[1].Dead {
			t.Errorf("clock from %s: %+v, %v", name, v.Held, err)
		}
		said := slices.ContainsFunc(v.Unseen, func(u inspect.Unseen) bool { return u.Read == "TIME" && u.Right == "+time" })
		if unknown := name == "nothing"; said != unknown {
			t.Errorf("clock from %s: unseen %+v", name, v.Unseen)
		} else if v.Held != nil && v.Held.Claims[1].Since.IsZero() != unknown {
			t.Errorf("clock from %s: waiting since %v", name, v.Held.Claims[1].Since)
		}
	}
}

// The user may read all helper keys of a fair lock except the heartbeats. The waiters are unknown,
// and granting the reported right is enough.
func TestMissingHeartbeatRightIsNamed(t *testing.T) {
	m := servertest.StartRedis(t)
	c, ctx := client(t, m), t.Context()
	waiter := recipe.LockscopeToken([16]byte{2}, "waiter")
	now := time.Now()
	set(t, m, "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), time.Hour)
	c.ZAdd(ctx, recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), redis.Z{Score: float64(now.UnixMicro()), Member: waiter})
	c.HSet(ctx, recipe.LockscopeKey(recipe.AlivePrefix, "lock:a"), waiter, fmt.Sprint(now.Add(time.Minute).UnixMicro()))
	rules := []any{"acl", "setuser", "viewer", "reset", "on", ">pw", "~lock:*", "~lockscope:queue:*", "~lockscope:wait:*", "allchannels", "+@all"}
	read := func() (missing []inspect.Unseen) {
		t.Helper()
		must.Succeed(t, c.Do(ctx, rules...).Err())
		viewer := redis.NewClient(&redis.Options{Addr: m.Addr, Username: "viewer", Password: "pw"})
		defer viewer.Close()
		v, err := node.ReadKey(ctx, time.Now, viewer, m.Addr, "lock:a", 30*time.Second)
		if err != nil || v.Held == nil || len(v.Held.Claims) != 2 {
			t.Fatalf("%+v, %v", v, err)
		}
		return v.Unseen
	}
	missing := read()
	if len(missing) != 1 || missing[0].Aspect != inspect.AspectWaiters || missing[0].Right != "~lockscope:alive:{*}" {
		t.Fatalf("%+v", missing)
	}
	rules = append(rules, missing[0].Right)
	if missing := read(); len(missing) > 0 {
		t.Errorf("still missing with the reported right: %+v", missing)
	}
}
