package foreign

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestRedisPrograms(t *testing.T) {
	server := servertest.StartRedis(t)
	client := server.Client(t)
	for _, p := range programs(t, "redis") {
		t.Run(p.file, func(t *testing.T) {
			must.Succeed(t, client.FlushAll(t.Context()).Err())
			entries := load(t, p)
			for _, e := range entries {
				replayKey(t, client, e)
			}
			// The default patterns, and everything.
			for _, match := range [][]string{nil, {"*"}} {
				config := redissource.Config{
					Backend: "redis", Masters: []*redis.UniversalOptions{{Addrs: []string{server.Addr}}}, Match: match, Timeout: 30 * time.Second,
					Budget: redissource.Budget{Unlimited: true},
				}
				watched := redissource.New(config)
				config.Once = true
				judge(t, p, fmt.Sprintf("match %q, once", match), once(t, redissource.New(config)))
				judge(t, p, fmt.Sprintf("match %q, watched", match), watch(t, watched))
			}
		})
	}
}

func replayKey(t *testing.T, c *redis.Client, e entry) {
	t.Helper()
	key, ttl, values := e.fields[0], e.fields[1], e.fields[2:]
	ctx := t.Context()
	anys := make([]any, len(values))
	for i, v := range values {
		anys[i] = v
	}
	var err error
	switch e.kind {
	case "string":
		err = c.Set(ctx, key, values[0], 0).Err()
	case "list":
		err = c.RPush(ctx, key, anys...).Err()
	case "set":
		err = c.SAdd(ctx, key, anys...).Err()
	case "hash":
		err = c.HSet(ctx, key, anys...).Err()
	case "zset":
		for pair := range slices.Chunk(values, 2) {
			score, failed := strconv.ParseFloat(pair[1], 64)
			if failed != nil {
				t.Fatal(failed)
			}
			err = c.ZAdd(ctx, key, redis.Z{Score: score, Member: pair[0]}).Err()
		}
	case "stream":
		n, failed := strconv.Atoi(values[0])
		if failed != nil {
			t.Fatal(failed)
		}
		for range n {
			err = c.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: anys[1:]}).Err()
		}
	default:
		t.Fatalf("unknown kind of entry: %s", e)
	}
	if err == nil && ttl != "-" {
		ms, failed := strconv.Atoi(ttl)
		if failed != nil {
			t.Fatal(failed)
		}
		err = c.PExpire(ctx, key, time.Duration(ms)*time.Millisecond).Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
}

// recordRedis reads all keys of a server.
func recordRedis(ctx context.Context, addr string) ([]entry, error) {
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	defer c.Close()
	var entries []entry
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	for _, key := range keys {
		e, err := recordKey(ctx, c, key)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		if e.kind != "none" {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func recordKey(ctx context.Context, c *redis.Client, key string) (entry, error) {
	kind, err := c.Type(ctx, key).Result()
	if err != nil {
		return entry{}, err
	}
	ttl := "-"
	if d, err := c.PTTL(ctx, key).Result(); err != nil {
		return entry{}, err
	} else if d > 0 {
		ttl = strconv.FormatInt(d.Milliseconds(), 10)
	}
	e := entry{kind, []string{key, ttl}}
	var values []string
	switch kind {
	case "string":
		var v string
		v, err = c.Get(ctx, key).Result()
		values = []string{v}
	case "list":
		values, err = c.LRange(ctx, key, 0, -1).Result()
	case "set":
		values, err = c.SMembers(ctx, key).Result()
		slices.Sort(values)
	case "hash":
		var m map[string]string
		m, err = c.HGetAll(ctx, key).Result()
		for f, v := range m {
			values = append(values, f, v)
		}
	case "zset":
		var members []redis.Z
		members, err = c.ZRangeWithScores(ctx, key, 0, -1).Result()
		for _, z := range members {
			values = append(values, z.Member.(string), strconv.FormatFloat(z.Score, 'f', -1, 64))
		}
	case "stream":
		var messages []redis.XMessage
		messages, err = c.XRange(ctx, key, "-", "+").Result()
		values = []string{strconv.Itoa(len(messages))}
		if len(messages) > 0 {
			for f, v := range messages[0].Values {
				values = append(values, f, v.(string))
			}
		}
	}
	e.fields = append(e.fields, values...)
	return e, err
}
