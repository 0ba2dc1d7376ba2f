package redissource_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const slowTick = time.Hour

// onlyPushes is a configuration that reads nothing after the first pass but what a master pushes:
// all polls are an hour apart.
func onlyPushes(masters ...*servertest.Redis) redissource.Config {
	cfg := config(masters...)
	cfg.Tick, cfg.Budget.ScanEvery, cfg.Match = slowTick, slowTick, []string{"lock:*"}
	return cfg
}

// awaitPass waits for the first pass and, with push, until all masters push.
func awaitPass(v *sourcetest.View, push bool) {
	v.Await("the first pass, and perhaps push", func() bool {
		return v.Backend != nil && v.Backend.FirstPass && (v.Backend.Mode == inspect.ModePush || !push)
	})
}

// awaitPush waits for the first pass, and until all masters push.
func awaitPush(v *sourcetest.View) { awaitPass(v, true) }

// watchPushed watches masters, and waits until all of them push and the first pass is done.
func watchPushed(t *testing.T, cfg redissource.Config) *sourcetest.View {
	t.Helper()
	v := watch(t, cfg)
	awaitPush(v)
	return v
}

// heldBy is a condition for Await: the lock has exactly this holder.
func heldBy(v *sourcetest.View, key, name string) func() bool {
	return func() bool {
		l := v.Locks[key]
		return l != nil && len(l.Holders) == 1 && l.Holders[0].Name == inspect.Untrusted(name)
	}
}

func TestPushShowsEveryChangeAtOnce(t *testing.T) {
	m := servertest.StartRedis(t)
	v := watchPushed(t, onlyPushes(m))
	c, ctx := m.Client(t), context.Background()
	var took []time.Duration
	change := func(what string, do func() error, seen func() bool) {
		t.Helper()
		start := time.Now()
		must.Succeed(t, do())
		v.Await(what, seen)
		took = append(took, time.Since(start))
	}
	for i := range 50 {
		key := fmt.Sprintf("lock:%d", i%10)
		change("a new holder", func() error { return c.Set(ctx, key, i, time.Minute).Err() }, heldBy(v, key, strconv.Itoa(i)))
		change("a renewal", func() error { return c.PExpire(ctx, key, time.Hour).Err() }, func() bool {
			return time.Until(v.Locks[key].Holders[0].ExpiresAt) > 59*time.Minute
		})
		change("a release", func() error { return c.Del(ctx, key).Err() }, inState(v, key, inspect.StateFree))
	}
	// Only a push is that fast. Benchmarks measure how fast.
	slices.Sort(took)
	if usual := took[len(took)/2]; usual > time.Second {
		t.Errorf("the median of %d changes took %v", len(took), usual)
	}
	change("a flush", func() error {
		c.Set(ctx, "lock:1", "x", 0)
		v.Await("held", heldBy(v, "lock:1", "x"))
		return c.FlushDB(ctx).Err()
	}, inState(v, "lock:1", inspect.StateFree))
}

func TestEveryKeyIsPushedWithoutPrefix(t *testing.T) {
	m := servertest.StartRedis(t)
	cfg := onlyPushes(m)
	cfg.Match = nil // the default patterns, which have no prefix
	cfg.Budget.Pushes = 1000
	v := watchPushed(t, cfg)
	set(t, m, "other", "x", 0)
	set(t, m, "my-mutex", "x", 0)
	v.Await("held", inState(v, "my-mutex", inspect.StateHeld))
	v.Peek(func() { must.Equal(t, len(v.Locks), 1, "locks", v.Describe()) })
	stop := hammer(t, m, 10, func(i int) string { return fmt.Sprintf("other:%d", i) })
	defer stop()
	v.Await("poll, and why", func() bool {
		b := v.Backend
		return b.Mode == inspect.ModePoll && b.State == inspect.Connected && len(b.Unseen) == 1 &&
			strings.Contains(b.Unseen[0].Reason, "more than 1000 keys a second change")
	})
}

// hammer sets and deletes that many keys in one pipeline every millisecond until stopped. The
// returned function stops it and returns the number of changes.
func hammer(t *testing.T, m *servertest.Redis, keys int, key func(int) string) (stop func() int) {
	t.Helper()
	c := m.Client(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() {
		n := 0
		for ctx.Err() == nil {
			c.Pipelined(context.Background(), func(p redis.Pipeliner) error {
				for range keys {
					n++
					p.Set(ctx, key(n), n, 0)
					p.Del(ctx, key(n))
				}
				return nil
			})
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
		done <- 2 * n
	}()
	return sync.OnceValue(func() int {
		cancel()
		return <-done
	})
}

func TestHotKeyReadsAreBounded(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	cfg := onlyPushes(m)
	v := watchPushed(t, cfg)
	set(t, m, "lock:hot", "first", 0)
	v.Await("held", heldBy(v, "lock:hot", "first"))
	before := commands(t, m.Client(t))
	start := time.Now()
	stop := hammer(t, m, 5, func(int) string { return "lock:hot" })
	v.Await("three seconds of changes", func() bool { return time.Since(start) > 3*time.Second && v.Updates > 0 })
	changes := stop()
	set(t, m, "lock:hot", "last", 0)
	v.Await("the last value", heldBy(v, "lock:hot", "last"))
	seconds := time.Since(start).Seconds()
	reads := float64(commands(t, m.Client(t))["getrange"] - before["getrange"])
	if most := 20 + 20*seconds + 5; reads > most || float64(changes) < 3*most { // fewer changes would prove nothing
		t.Errorf("%.0f reads of one key for %d changes in %.1f s", reads, changes, seconds)
	}
	v.Await("still pushed", func() bool { return v.Backend.Mode == inspect.ModePush })
}

// commands are a server's counts of each command.
func commands(t *testing.T, c *redis.Client) map[string]int {
	t.Helper()
	info := must.Have(c.Info(context.Background(), "commandstats").Result())(t)
	counts := map[string]int{}
	for _, match := range regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		counts[match[1]], _ = strconv.Atoi(match[2])
	}
	return counts
}

func TestExpiryNeedsNoPush(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		name := servertest.UniqueName(t)
		cfg := onlyPushes(masters[0])
		cfg.Match = []string{"lock:" + name + "*"}
		if !masters[0].Real {
			cfg.Budget.ScanEvery = 50 * time.Millisecond // finds new keys; known ones are read at slow ticks only
		}
		v := watch(t, cfg)
		awaitPass(v, masters[0].Real)
		keys := make([]string, 20)
		outs := make([]time.Time, len(keys))
		for i := range keys {
			keys[i] = fmt.Sprintf("lock:%s:%d", name, i)
			set(t, masters[0], keys[i], "x", 8*time.Second+time.Duration(i)*100*time.Millisecond)
		}
		for i, key := range keys {
			v.Await("held", inState(v, key, inspect.StateHeld))
			v.Peek(func() { outs[i] = v.Locks[key].Holders[0].ExpiresAt })
		}
		var late []time.Duration
		for i, key := range keys {
			v.Await("expired", inState(v, key, inspect.StateFree))
			v.Peek(func() { late = append(late, v.At[key].Sub(outs[i])) })
		}
		slices.Sort(late)
		if late[0] < -50*time.Millisecond || late[len(late)/2] > 2*time.Second {
			t.Errorf("seen this long after expiry: %v", late)
		}
	})
}

// A restarted server has a new run id, and no keys unless it saved them.
func TestARestartedMasterIsReadAgain(t *testing.T) {
	t.Parallel()
	masters := startMasters(t, 3, "lock:a")
	for _, m := range masters[:2] {
		set(t, m, "lock:b", "x", 0)
	}
	v := watchPushed(t, onlyPushes(masters...))
	var was string
	v.Await("three votes and the run id", func() bool {
		was = v.Backend.Servers[1].RunID
		l := v.Locks["lock:a"]
		return l != nil && l.Votes() == 3 && inState(v, "lock:b", inspect.StateHeld)() && len(was) == 40
	})
	before := time.Now()
	masters[1].Kill(t)
	v.Await("one vote less", func() bool {
		l := v.Locks["lock:a"]
		return l.Votes() == 2 && l.State == inspect.StateHeld && !l.Masters[1].Up && l.Masters[1].Error != ""
	})
	v.Await("down", func() bool { return v.Backend.Servers[1].State == inspect.ServerDown })
	v.Peek(func() {
		if v.Backend.Mode != inspect.ModePush || v.Backend.State != inspect.Degraded {
			t.Errorf("the others still push: %+v", v.Backend)
		}
	})
	masters[1].Restart(t)
	set(t, masters[1], "lock:b", "y", 0)
	v.Await("the new run id, and the new keys", func() bool {
		s, a, b := v.Backend.Servers[1], v.Locks["lock:a"], v.Locks["lock:b"]
		return len(s.RunID) == 40 && s.RunID != was && s.StartedAt.After(before.Add(-5*time.Second)) &&
			a.Votes() == 2 && a.Masters[1].Up && !a.Masters[1].Present && b.Masters[1].Value == "y"
	})
	v.Peek(func() {
		a, b := v.Locks["lock:a"].Masters, v.Locks["lock:b"].Masters
		if a[1].LastPresent.Before(before) || !a[0].LastPresent.IsZero() || !b[2].LastPresent.IsZero() {
			t.Errorf("not only the restarted master lost lock:a: %+v, lock:b %+v", a, b)
		}
		for _, s := range v.Backend.Servers {
			if s.Several || s.Role != "master" || !s.ClockKnown || s.ClockOffset.Abs() > time.Second {
				t.Errorf("%+v", s)
			}
		}
	})
	set(t, masters[1], "lock:a", "x", 0)
	v.Await("pushing again", func() bool {
		return v.Locks["lock:a"].Votes() == 3 && v.Backend.Mode == inspect.ModePush && v.Backend.State == inspect.Connected
	})
}

func TestAStoppedMasterDelaysNoPush(t *testing.T) {
	t.Parallel()
	masters := startMasters(t, 3)
	cfg := onlyPushes(masters...)
	cfg.Timeout = 6 * time.Second
	v := watchPushed(t, cfg)
	masters[2].Pause(t)
	var took []time.Duration
	for i := range 100 {
		key, value := fmt.Sprintf("lock:%d", i%10), strconv.Itoa(i)
		start := time.Now()
		for _, m := range masters[:2] {
			set(t, m, key, value, 0)
		}
		v.Await("two votes", func() bool { return heldBy(v, key, value)() && v.Locks[key].Votes() == 2 })
		took = append(took, time.Since(start))
		if i == 0 {
			v.Await("the stopped master down", func() bool {
				return v.Backend.Servers[2].State == inspect.ServerDown && !v.Locks[key].Masters[2].Up
			})
		}
	}
	slices.Sort(took)
	if usual := took[len(took)/2]; usual > cfg.Timeout/2 { // waiting for the stopped master takes cfg.Timeout
		t.Errorf("the median change on the others took %v", usual)
	}
	masters[2].Resume(t)
	v.Await("the master back", func() bool {
		return v.Locks["lock:0"].Masters[2].Up && v.Backend.Mode == inspect.ModePush && v.Backend.State == inspect.Connected
	})
}

func TestServerWithoutPushIsPolled(t *testing.T) {
	t.Parallel()
	embedded := servertest.StartEmbeddedRedis(t)
	v := watch(t, config(embedded))
	v.Await("poll, and why", func() bool {
		return v.Backend != nil && v.Backend.Mode == inspect.ModePoll && len(v.Backend.Unseen) == 1 && v.Backend.Unseen[0].Aspect == inspect.AspectChanges
	})
	set(t, embedded, "lock:a", "x", 0)
	v.Await("held", inState(v, "lock:a", inspect.StateHeld))

	real := servertest.StartRedis(t)
	w := watch(t, viewed(t, real, "-client"))
	w.Await("poll, and why", func() bool {
		return w.Backend != nil && w.Backend.Mode == inspect.ModePoll && w.Backend.State == inspect.Connected &&
			slices.ContainsFunc(w.Backend.Unseen, func(u inspect.Unseen) bool { return u.Right == "+client|tracking" })
	})
	set(t, real, "lock:a", "x", 0)
	w.Await("held", inState(w, "lock:a", inspect.StateHeld))
	w.Await("facts", func() bool {
		facts := w.Backend.Servers[0]
		return facts.RunID != "" && facts.EvictionPolicy == "noeviction" && facts.Role == "master"
	})
}
