package lockops_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// redisClient returns a separate client, as another program would use.
func redisClient(t testing.TB, m *servertest.Redis) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, ReadTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

// get is a key's value, empty if it is missing.
func get(t testing.TB, c *redis.Client, key string) string {
	t.Helper()
	v, err := c.Get(within(t), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return v
}

// neverTwoHolders runs n contenders that acquire the lock k times each, and checks that only one
// holds it at a time.
func neverTwoHolders(t *testing.T, n, k int, locker func(i int) lockops.Locker, held func(h *lockops.Hold)) {
	t.Helper()
	var inside atomic.Int32
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for range k {
				h, err := locker(i).Acquire(within(t))
				if must.Be(t, err, nil); err != nil {
					return
				}
				must.Equal(t, inside.Add(1), 1, "two holders at once")
				held(h)
				inside.Add(-1)
				must.Be(t, h.Release(within(t)), nil)
			}
		})
	}
	all.Wait()
}

// A lock has one holder at a time. On one Redis each holder's token is larger than the one before,
// and a Redlock has none. A fair lock's deadline is left out, since at first it is only one
// heartbeat away.
func TestRedisLocksAreExclusive(t *testing.T) {
	eachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis, key string) {
		for _, kind := range redisKinds {
			on := mastersOf(kind, masters)
			sessions := []*lockops.RedisSession{redisSession(t, on...), redisSession(t, on...)}
			var last atomic.Uint64
			neverTwoHolders(t, 8, 5, func(i int) lockops.Locker {
				return lockOf(t, kind, sessions[i%2], key, lockops.WithLabel("worker"))
			}, func(h *lockops.Hold) {
				token, ok := h.Token()
				before := last.Swap(token)
				must.Equal(t, ok, kind.On == lockops.OnRedis, kind.Name, "has a token")
				must.True(t, token > before || !ok, kind.Name, "token", token, "after", before)
				must.True(t, ok || token == 0, "token", token, "of a", kind.Name)
				if kind.Name != "fair" {
					lasts(t, h, 20*time.Second) // of the default TTL of 30 s
				}
			})
			for _, s := range sessions {
				s.Close()
			}
			must.Equal(t, votes(t, on, key), 0, kind.Name, "masters with the key")
		}
	})
}

// Releasing a lost hold returns ErrLost and does not delete the successor's key.
func TestR1_OnlyTheOwnerReleases(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		c := redisClient(t, masters[0])
		h := acquire(t, lockops.NewRedisMutex(redisSession(t, masters[0]), key))
		got := recipe.DecodeToken(key, h.Name())
		must.True(t, got.Recipe == "lockscope" && get(t, c, key) == h.Name(), "value", h.Name(), "decodes to", got)
		c.Set(within(t), key, "successor", time.Minute)
		err := h.Release(within(t))
		isAll(t, err, lockops.ErrLost, lockops.ErrOther)
		must.Equal(t, get(t, c, key), "successor", "the successor's value")
	})
}

// An ACL that allows only the keys of the locks is enough, since values are passed as arguments,
// not keys. Values also start with "lockscope:", so the ACL spells out the auxiliary keys.
func TestR2_ValuesAreArguments(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	for _, kind := range oneRedisKinds {
		asUser(t, m, "&lockscope:wake:*", "~lock:*", "~lockscope:fence:{lock:*", "~lockscope:wait:{lock:*", "~lockscope:queue:{lock:*",
			"~lockscope:alive:{lock:*", "-@all", "+evalsha", "+eval", "+get", "+set", "+del", "+exists", "+pexpire", "+pttl", "+time", "+zadd", "+zrange",
			"+zrevrange", "+zrem", "+zpopmin", "+hset", "+hget", "+hdel", "+publish", "+subscribe", "+unsubscribe", "+client|setname")
		s := userSession(t, m)
		h := acquire(t, lockOf(t, kind, s, "lock:a"))
		must.Be(t, h.Extend(within(t)), nil, kind.Name)
		release(t, h)
		_, err := lockOf(t, kind, s, "other").Acquire(within(t))
		must.True(t, err != nil && contains(err, "NOPERM"), kind.Name, "acquire of a forbidden key:", err)
	}
}

// A server that has lost the scripts, as after a restart, gets them again.
func TestR3_ScriptsAreLoadedAgain(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		s := redisSession(t, masters[0])
		m := lockops.NewRedisMutex(s, servertest.UniqueName(t))
		c := redisClient(t, masters[0])
		for range 2 {
			h := acquire(t, m)
			c.ScriptFlush(within(t))
			must.Be(t, h.Extend(within(t)), nil)
			c.ScriptFlush(within(t))
			release(t, h)
			c.ScriptFlush(within(t))
		}
	})
}

// Renewal keeps the key beyond its TTL. Deleting the key ends the hold.
func TestR5_RenewalAndItsLoss(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		renewed := make(chan time.Time, 100)
		const ttl = 8 * time.Second // much longer than the pauses of a busy machine
		m := lockops.NewRedisMutex(redisSession(t, masters[0]), key, lockops.WithTTL(ttl),
			lockops.OnRenew(func(d time.Time) { renewed <- d }))
		start := time.Now()
		h := acquire(t, m)
		for time.Since(start) < ttl+ttl/4 {
			select {
			case <-renewed:
			case <-h.Context().Done():
				t.Fatalf("lost: %v", context.Cause(h.Context()))
			}
		}
		must.Be(t, context.Cause(h.Context()), nil, "cause after the TTL")
		redisClient(t, masters[0]).Del(within(t), key)
		awaitLoss(t, h, lockops.ErrGone)
	})
}

// Without renewal, the hold ends before the key does. With a TTL of three seconds, that is 32 ms
// earlier, which a busy machine may miss, but not every time.
func TestR5_LossIsReportedInTime(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		for range 4 {
			key := servertest.UniqueName(t)
			s := redisSession(t, masters[0])
			h := acquire(t, lockops.NewRedisMutex(s, key, lockops.WithTTL(3*time.Second), lockops.WithoutRenewal()))
			next := acquire(t, lockops.NewRedisMutex(redisSession(t, masters[0]), key))
			reported := h.Context().Err() != nil
			must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
			release(t, next)
			if reported {
				return
			}
		}
		t.Error("the next hold was granted before the loss of the first was reported, four times")
	})
}

// Extend fails if the key is gone, and does not bring it back.
func TestR6_RenewalDoesNotResurrect(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		c := redisClient(t, masters[0])
		h := acquire(t, lockops.NewRedisMutex(redisSession(t, masters[0]), key))
		c.Del(within(t), key)
		must.Be(t, h.Extend(within(t)), lockops.ErrLost, "extend")
		must.True(t, h.Context().Err() != nil, "the hold did not end")
		must.Equal(t, get(t, c, key), "", "the key came back")
	})
}

// Waiters notice a release even if the client publishes no message.
func TestR12_WaitersAlsoPoll(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		c := redisClient(t, masters[0])
		must.True(t, c.SetNX(within(t), key, "foreign", time.Hour).Val(), "the key exists")
		s := redisSession(t, masters[0])
		mutex := kindMaker(t, oneRedisKinds[0], s, key)
		ctx, cancel := context.WithCancel(within(t))
		_, subscribing := mustQueue(t, ctx, mutex) // subscribes the session, which would also trigger a poll
		must.Become(t, "the session is subscribed", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:@*").Val()) > 0 })
		cancel()
		must.Be(t, (<-subscribing).err, context.Canceled)
		refused(t, mutex(), lockops.ErrHeld)
		name, got := mustQueue(t, within(t), mutex)
		c.Del(within(t), key)
		h := granted(t, got)
		must.Equal(t, h.Name(), name, "holder")
		release(t, h)
	})
}

// An Acquire cancelled at any moment leaves no key and no entry in a queue.
func TestRedisCancelLeavesNoKey(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		for _, kind := range redisKinds {
			t.Run(kind.Name, func(t *testing.T) {
				t.Parallel()
				key, cancelled := servertest.UniqueName(t), 0
				l := must.Have(kind.New(redisSession(t, mastersOf(kind, masters)...), key))(t)
				moments := servertest.Effort(t, 30, 100)
				for i := range moments {
					ctx := limited(t, time.Duration(i)*time.Millisecond/time.Duration(moments))
					h, err := l.Acquire(ctx)
					if err == nil {
						release(t, h)
						continue
					}
					cancelled++
					must.Be(t, err, context.DeadlineExceeded)
					noKey(t, "an Acquire", masters, key) // no other client would remove the key, and it lives for 30 s
				}
				must.True(t, cancelled != 0, "no Acquire was cancelled")
			})
		}
	})
}

// noKey waits until the masters have only the fencing token of a lock. It waits for at most 20 s,
// less than a TTL.
func noKey(t testing.TB, what string, masters []*servertest.Redis, key string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		var left []string
		for _, m := range masters {
			c := redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, ReadTimeout: time.Minute})
			left = append(left, must.Have(c.Keys(within(t), "*"+key+"*").Result())(t)...)
			c.Close()
		}
		left = slices.DeleteFunc(left, func(k string) bool { return k == recipe.FenceKey(key) })
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s left keys: %q", what, left)
		}
	}
}
