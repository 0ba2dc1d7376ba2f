package redissource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A master votes for the owner in the hash field.
func TestRedissonOnThreeMastersNeedsQuorum(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		key := "lock:" + servertest.UniqueName(t)
		cfg := config(masters...)
		cfg.Match = []string{key + "*"}
		for i, owner := range []string{uuidA + ":1", uuidA + ":1", uuidB + ":2"} {
			masters[i].Client(t).HSet(t.Context(), key, owner, 1)
		}
		l := once(t, cfg).Locks[key]
		if l == nil || l.State != inspect.StateHeld || l.Kind != inspect.KindRedlock || l.Votes() != 2 || l.Recipe != "redisson" ||
			len(l.Holders) != 1 || l.Holders[0].Name != uuidA+":1" || !l.Masters[0].Agrees || l.Masters[2].Agrees || l.Masters[2].Value != uuidB+":2" {
			t.Errorf("two of three: %+v", l)
		}
		masters[1].Client(t).Del(t.Context(), key)
		masters[1].Client(t).Set(t.Context(), key, "a string", 0)
		if l := once(t, cfg).Locks[key]; l == nil || l.State != inspect.StateSplit || len(l.Holders) != 0 {
			t.Errorf("three of three differ: %+v", l)
		}
		masters[1].Client(t).Del(t.Context(), key)
		masters[1].Client(t).SAdd(t.Context(), key, "a set")
		if l := once(t, cfg).Locks[key]; l == nil || !l.Masters[1].Foreign || l.Masters[1].Value != "set" || l.State != inspect.StateSplit {
			t.Errorf("a wrong type on one master: %+v", l)
		}
	})
}

// plantHostile writes lock-like values that are huge, contain escapes, or have impossible numbers.
func plantHostile(t *testing.T, c *redis.Client, key func(string) string) {
	t.Helper()
	ctx := t.Context()
	huge := strings.Repeat("x", 1<<20)
	fields := make([]any, 0, 2*20_000)
	for i := range 20_000 {
		fields = append(fields, fmt.Sprintf("%s:%d", uuidA, i), 1)
	}
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key("many"), fields...)
		p.HSet(ctx, key("large"), uuidA+":1", huge)
		p.HSet(ctx, key("count"), uuidA+":1", "99999999999999999999")
		p.HSet(ctx, key("readers"), "mode", "read", uuidA+":1", "1000000000")
		p.HSet(ctx, key("esc"), "\x1b[31m\u202egnp.exe", 1)
		p.ZAdd(ctx, key("zset"), redis.Z{Score: 1e300, Member: tokA}, redis.Z{Score: -1, Member: symfonyWrite})
		p.ZAdd(ctx, key("far"), redis.Z{Score: 9e15, Member: tokA})
		p.RPush(ctx, key("list"), "\x1b]0;x\a")
		p.SAdd(ctx, key("set.readers"), "\x1b[2J_1_"+guid)
		p.Set(ctx, key("string"), "\x1b[31m\u202e\xff"+huge[:50_000], 0)
		p.HSet(ctx, key("fair"), uuidA+":1", 1)
		p.RPush(ctx, "redisson_lock_queue:{"+key("fair")+"}", huge[:1000], "\x1b[31m", uuidB+":2")
		p.HSet(ctx, key("fat"), uuidA+":1", 1)
		p.RPush(ctx, "redisson_lock_queue:{"+key("fat")+"}", huge, huge, uuidB+":2")
		p.HSet(ctx, "redisson_lock_timeout:{"+key("fair")+"}", "not", "a zset")
		return nil
	})
	must.Succeed(t, err)
}

// Nothing on a server is read without a limit or printed unescaped.
func TestHostileKeysAreBoundedAndEscaped(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		name := servertest.UniqueName(t)
		key := func(s string) string { return "lock:" + name + ":" + s }
		plantHostile(t, masters[0].Client(t), key)
		cfg := config(masters...)
		cfg.Match = []string{"*" + name + "*"}
		s := look(t, cfg)
		text := must.Have(json.Marshal(jsonform.Snapshot(s)))(t)
		for _, bad := range []string{"\x1b", `\u001b`, "\u202e", `\u202e"`} {
			must.True(t, !strings.Contains(string(text), bad), bad, "is printed")
		}
		if len(text) > 100_000 {
			t.Errorf("%d bytes of JSON", len(text))
		}
		listed := map[string]*inspect.Lock{}
		for l := range s.Locks() {
			listed[strings.TrimPrefix(l.ID.Path, "lock:"+name+":")] = l
		}
		for _, no := range []string{"many", "large", "count", "esc", "zset", "list", "set.readers"} {
			must.Equal(t, listed[no], nil, no)
		}
		if l := listed["string"]; l == nil || len(l.Holders[0].Name) != 1<<10 || l.Holders[0].Digest == "" {
			t.Errorf("a long string: %v", listed["string"] != nil)
		}
		if l := listed["readers"]; l == nil || l.Holders[0].Dead || l.Holders[0].Count != 1_000_000_000 {
			t.Errorf("a billion read holds: %+v", l)
		}
		if l := listed["fair"]; l == nil || len(l.Waiters) != 1 || l.Waiters[0].Name != uuidB+":2" {
			t.Errorf("a fair queue with hostile entries: %+v", l)
		}
		if l := listed["fat"]; l == nil || len(l.Holders) != 1 || masters[0].Real && len(l.Waiters) != 0 {
			t.Errorf("a fair queue that is too large: %+v", l)
		}
		if l := listed["set.writer"]; l == nil || l.Holders[0].Owner.Host != "\x1b[2J" {
			t.Errorf("a reader with escapes in its name: %+v", l)
		}
	})
}

// symfonyWrite is the member that Symfony adds for an exclusive lock.
const symfonyWrite = "__write__"

// Helper keys come and go without a change of the lock's own key.
func TestHelperKeyChangesAreSeen(t *testing.T) {
	m := servertest.StartRedis(t)
	for mode, cfg := range map[string]redissource.Config{"poll": config(m), "push": onlyPushes(m)} {
		t.Run(mode, func(t *testing.T) {
			key := "lock:" + servertest.UniqueName(t)
			v := watch(t, cfg)
			awaitPass(v, mode == "push")
			c, ctx := m.Client(t), context.Background()
			c.HSet(ctx, key, uuidA+":1", 1)
			v.Await("held", inState(v, key, inspect.StateHeld))
			c.RPush(ctx, "redisson_lock_queue:{"+key+"}", uuidB+":2")
			v.Await("a dead waiter", func() bool {
				l := v.Locks[key]
				return l.State == inspect.StateHeld && len(l.Waiters) == 1 && l.Waiters[0].Dead
			})
			c.HIncrBy(ctx, key, uuidA+":1", 1)
			v.Await("reentered", func() bool { return v.Locks[key].Holders[0].Count == 2 })
			c.Del(ctx, key, "redisson_lock_queue:{"+key+"}")
			v.Await("free", func() bool { l := v.Locks[key]; return l.State == inspect.StateFree && len(l.Waiters) == 0 })
			c.Set(ctx, key, "a string", 0)
			v.Await("another library's lock", func() bool { l := v.Locks[key]; return l.State == inspect.StateHeld && l.Recipe != "redisson" })
			c.Del(ctx, key)
			c.ZAdd(ctx, key, redis.Z{Score: float64(time.Now().Add(6 * time.Second).UnixMilli()), Member: tokA})
			v.Await("Symfony's lock", func() bool { l := v.Locks[key]; return l.State == inspect.StateHeld && l.Recipe == "symfony" })
			v.Await("free by its score, though the key stays", inState(v, key, inspect.StateFree))
			c.Del(ctx, key)
			c.SAdd(ctx, key+".readers", "web_1_"+guid)
			v.Await("readers", func() bool { l := v.Locks[key+".writer"]; return l != nil && l.State == inspect.StateHeld })
			c.SAdd(ctx, key+".readers", "web_2_"+guid)
			v.Await("two readers", func() bool { return len(v.Locks[key+".writer"].Holders) == 2 })
		})
	}
}
