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

// Who waits in a fair lock and was heard of a moment ago, by the clock of a server that is an hour behind, is
// not gone, whatever tells that clock; and where nothing does, that is said.
func TestAKeyIsReadByTheServersClockWhateverTellsIt(t *testing.T) {
	m, clock := servertest.StartRedisWithClock(t)
	clock.Step(t, -time.Hour)
	c, ctx := client(t, m), t.Context()
	now := must.Have(c.Time(ctx).Result())(t)
	waiter := recipe.LockscopeToken([16]byte{2}, "waiter")
	came := float64(now.Add(-time.Minute).UnixMicro())
	set(t, m, "lock:a", recipe.LockscopeToken([16]byte{1}, "holder"), time.Hour)
	c.ZAdd(ctx, recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), redis.Z{Score: came, Member: waiter})
	c.HSet(ctx, recipe.LockscopeKey(recipe.AlivePrefix, "lock:a"), waiter, fmt.Sprint(now.Add(time.Minute).UnixMicro())) // for as long as this takes
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
			t.Errorf("%s tells the time: %+v, %v", name, v.Held, err)
		}
		said := slices.ContainsFunc(v.Unseen, func(u inspect.Unseen) bool { return u.Read == "TIME" && u.Right == "+time" })
		if unknown := name == "nothing"; said != unknown {
			t.Errorf("%s tells the time: unseen %+v", name, v.Unseen)
		} else if v.Held != nil && v.Held.Claims[1].Since.IsZero() != unknown {
			t.Errorf("%s tells the time: waits since %v", name, v.Held.Claims[1].Since)
		}
	}
}

// An account that names the keys next to a fair lock one by one, and not that of who was heard of, sees that
// its waiters are unknown, and the right that it lacks is enough.
func TestTheRightToWhoWasHeardOfIsNamed(t *testing.T) {
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
		t.Errorf("with that right: %+v", missing)
	}
}
