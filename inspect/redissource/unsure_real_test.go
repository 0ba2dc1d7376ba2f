package redissource_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// evicting starts a master with limited memory and a lock, watched by a user without the denied
// command ("" denies none).
func evicting(t *testing.T, denied string) (c *redis.Client, run func(words ...any), held func(key, value string), seen func(key string) inspect.Vote) {
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
	cfg.Tick = 20 * time.Millisecond // for the case that is polled
	cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
	v, _ := watch(t, cfg)
	v.Await("the memory limit", func() bool {
		return v.Backend != nil && len(v.Backend.Servers) == 1 && v.Backend.Servers[0].Evicts() && (v.Backend.Mode == inspect.ModePush) == (denied == "")
	})
	held = func(key, value string) {
		t.Helper()
		v.Await(key+" is held by "+value, func() bool {
			return state(v, key, inspect.StateHeld)() && string(v.Locks[key].Masters[0].Value) == value
		})
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

// How a key ended is unknown on a master that may have evicted it.
func TestEndOnEvictingMasterIsUncertain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		denied string
		before []any
		end    []any
		want   bool
	}{
		"evicted":                 {end: []any{"config", "set", "maxmemory", "1"}, want: true},
		"deleted":                 {end: []any{"del", "lock:a"}, want: true},
		"deleted, polled":         {denied: "client", end: []any{"del", "lock:a"}, want: true},
		"deleted, without expiry": {before: []any{"set", "lock:a", "y"}, end: []any{"del", "lock:a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, run, held, seen := evicting(t, tt.denied)
			held("lock:a", "x")
			if tt.before != nil {
				run(tt.before...)
				held("lock:a", "y")
			}
			run(tt.end...)
			must.Equal(t, seen("lock:a").Unsure, tt.want, "unsure")
		})
	}
}
