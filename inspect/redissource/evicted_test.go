package redissource_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// evicting is a master whose memory is limited, with a lock, and a view of it by a user that one command is refused to ("" for none).
func evicting(t *testing.T, denied string) (c *redis.Client, run func(words ...any), held func(key string), seen func(key string) inspect.Vote) {
	t.Helper()
	m := servertest.StartRedis(t)
	c = client(t, m)
	run = func(words ...any) {
		t.Helper()
		if err := c.Do(context.Background(), words...).Err(); err != nil {
			t.Fatal(words, err)
		}
	}
	run("config", "set", "maxmemory-policy", "volatile-ttl", "maxmemory", "100mb")
	run("acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all")
	if denied != "" {
		run("acl", "setuser", "viewer", "-"+denied)
	}
	set(t, m, "lock:a", "x", time.Hour)
	cfg := pushConfig(m)
	cfg.Tick = 20 * time.Millisecond // where it does not push
	cfg.Timeout = 6 * time.Second
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	v, _ := watch(t, cfg)
	v.Await("its limit", func() bool {
		return v.Backend != nil && len(v.Backend.Servers) == 1 && v.Backend.Servers[0].Evicts() && (v.Backend.Mode == inspect.ModePush) == (denied == "")
	})
	held = func(key string) {
		t.Helper()
		v.Await(key+" is held", state(v, key, inspect.StateHeld))
	}
	return c, run, held, func(key string) (vote inspect.Vote) {
		t.Helper()
		v.Await(key+" is gone", func() bool {
			if !state(v, key, inspect.StateFree)() {
				return false
			}
			vote = v.Locks[key].Masters[0]
			return true
		})
		return vote
	}
}

func TestWhatMayHaveBeenEvicted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		denied string
		end    [][]any
		want   bool
	}{
		"evicted":                            {end: [][]any{{"config", "set", "maxmemory", "1"}}, want: true},
		"evicted, polled":                    {denied: "client", end: [][]any{{"config", "set", "maxmemory", "1"}}, want: true},
		"deleted":                            {end: [][]any{{"del", "lock:a"}}},
		"deleted, polled":                    {denied: "client", end: [][]any{{"del", "lock:a"}}},
		"deleted, and INFO is not answered":  {end: [][]any{{"acl", "setuser", "viewer", "-info"}, {"del", "lock:a"}}, want: true},
		"deleted, and its counts began anew": {end: [][]any{{"config", "resetstat"}, {"del", "lock:a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, run, held, seen := evicting(t, tt.denied)
			held("lock:a")
			for _, words := range tt.end {
				run(words...)
			}
			if got := seen("lock:a").Evicted; got != tt.want {
				t.Errorf("evicted: %v", got)
			}
		})
	}
}

// Each of several locks that are given back one right after the other was given back.
func TestWhatIsDeletedInARowIsNotEvicted(t *testing.T) {
	t.Parallel()
	_, run, held, seen := evicting(t, "")
	for i := range 10 {
		run("setex", fmt.Sprint("lock:", i), 3600, "x")
	}
	for i := range 10 {
		held(fmt.Sprint("lock:", i))
	}
	for i := range 10 {
		key := fmt.Sprint("lock:", i)
		if run("del", key); seen(key).Evicted {
			t.Errorf("%s: taken for evicted", key)
		}
	}
}

// What a master evicted is counted as of an instant: a lock that is deleted later is not taken for evicted.
func TestWhatIsDeletedAfterAnEvictionIsNotEvicted(t *testing.T) {
	t.Parallel()
	c, run, held, seen := evicting(t, "")
	held("lock:a")
	ctx := context.Background()
	run("setex", "other", 1800, string(make([]byte, 8<<20))) // it ends before the locks: it is evicted first
	for c.Exists(ctx, "other").Val() != 0 {
		used, err := strconv.Atoi(c.InfoMap(ctx, "memory").Item("Memory", "used_memory")) // less of it each time: buffers of clients are in it
		if err != nil {
			t.Fatal(err)
		}
		run("config", "set", "maxmemory", used-1<<20)
		run("setex", "lock:other", 3600, "x") // keys are evicted before a write
	}
	run("config", "set", "maxmemory", "100mb")
	run("del", "lock:a")
	if !seen("lock:a").Evicted {
		t.Error("evictions before it ended are not counted")
	}
	for i := range 200 { // until a ping was answered after that
		key := fmt.Sprintf("lock:%d", i)
		run("setex", key, 3600, "x")
		held(key)
		time.Sleep(50 * time.Millisecond) // of the beats of the pings, which end a run of it
		run("del", key)
		if v := seen(key); !v.Evicted {
			return
		}
	}
	t.Error("whatever ends is taken for evicted since then")
}
