package foreign

import (
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
			for _, e := range load(t, p) {
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
			score := must.Have(strconv.ParseFloat(pair[1], 64))(t)
			err = c.ZAdd(ctx, key, redis.Z{Score: score, Member: pair[0]}).Err()
		}
	case "stream":
		for range must.Have(strconv.Atoi(values[0]))(t) {
			err = c.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: anys[1:]}).Err()
		}
	default:
		t.Fatalf("unknown kind of entry: %s", e)
	}
	if err == nil && ttl != "-" {
		ms := must.Have(strconv.Atoi(ttl))(t)
		err = c.PExpire(ctx, key, time.Duration(ms)*time.Millisecond).Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
}

// recordRedis reads all keys of a server.
func recordRedis(t *testing.T, server *servertest.Redis) (entries []entry) {
	c := server.Client(t)
	for _, key := range slices.Sorted(slices.Values(must.Have(c.Keys(t.Context(), "*").Result())(t))) {
		if e := recordKey(t, c, key); e.kind != "none" {
			entries = append(entries, e)
		}
	}
	return entries
}

func recordKey(t *testing.T, c *redis.Client, key string) entry {
	ctx := t.Context()
	kind := must.Have(c.Type(ctx, key).Result())(t)
	ttl := "-"
	if d := must.Have(c.PTTL(ctx, key).Result())(t); d > 0 {
		ttl = strconv.FormatInt(d.Milliseconds(), 10)
	}
	var values []string
	var err error
	switch kind {
	case "string":
		values = []string{must.Have(c.Get(ctx, key).Result())(t)}
	case "list":
		values, err = c.LRange(ctx, key, 0, -1).Result()
	case "set":
		values, err = c.SMembers(ctx, key).Result()
		slices.Sort(values)
	case "hash":
		for f, v := range must.Have(c.HGetAll(ctx, key).Result())(t) {
			values = append(values, f, v)
		}
	case "zset":
		for _, z := range must.Have(c.ZRangeWithScores(ctx, key, 0, -1).Result())(t) {
			values = append(values, z.Member.(string), strconv.FormatFloat(z.Score, 'f', -1, 64))
		}
	case "stream":
		messages := must.Have(c.XRange(ctx, key, "-", "+").Result())(t)
		values = []string{strconv.Itoa(len(messages))}
		if len(messages) > 0 {
			for f, v := range messages[0].Values {
				values = append(values, f, v.(string))
			}
		}
	}
	must.Succeed(t, err)
	return entry{kind, append([]string{key, ttl}, values...)}
}
