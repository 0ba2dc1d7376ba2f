package lockops_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// lostWithin waits until a hold is lost.
func lostWithin(t testing.TB, h *lockops.Hold, limit time.Duration) {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(limit):
		t.Fatalf("the loss was not reported within %v", limit)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, lockops.ErrLost) {
		t.Fatalf("cause %v, want ErrLost", cause)
	}
}

// When a replica without the lock is promoted, the hold ends long before its deadline, and the next
// token is higher. Replication is asynchronous, so two holders at once remain possible.
func TestR7_FailoverIsReportedAndTokensGrow(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	connect := func() *lockops.RedisSession {
		s := must.Have(lockops.NewRedisSession(within(t), []*redis.UniversalOptions{{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}}))(t)
		t.Cleanup(s.Close)
		return s
	}
	for _, kind := range oneRedisKinds {
		release(t, acquire(t, kind.make(connect(), "lock:"+kind.name))) // connects through the sentinel
	}
	redisClient(t, replica).ReplicaOf(within(t), "127.0.0.1", "1") // it stops replicating the master
	first := acquire(t, lockops.NewRedisMutex(connect(), "lock", lockops.WithTTL(time.Hour)))
	before, _ := first.Token()
	c := redisClient(t, master)
	must.Become(t, "the holder is subscribed", func() bool {
		return len(c.PubSubChannels(within(t), "lockscope:wake:lock").Val()) == 1
	})
	redisClient(t, replica).Do(within(t), "REPLICAOF", "NO", "ONE")
	master.Kill(t)
	host, port, _ := strings.Cut(replica.Addr, ":")
	sc := redis.NewClient(&redis.Options{Addr: sentinel, Protocol: 2})
	defer sc.Close()
	sc.Do(within(t), "SENTINEL", "REMOVE", servertest.SentinelMaster)
	must.Succeed(t, sc.Do(within(t), "SENTINEL", "MONITOR", servertest.SentinelMaster, host, port, "1").Err())
	lostWithin(t, first, 60*time.Second)
	second := acquire(t, lockops.NewRedisMutex(connect(), "lock"))
	if after, ok := second.Token(); !ok || after <= before {
		t.Errorf("token %d (%v) after %d from the old master", after, ok, before)
	}
	release(t, second)
}

// When a master restarts empty, the hold ends as soon as it is back, long before the next renewal.
// Tokens keep growing.
func TestR8_RestartIsReported(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	for _, kind := range oneRedisKinds {
		s := redisSession(t, m)
		l := kind.make(s, "lock", lockops.WithTTL(time.Hour))
		h := acquire(t, l)
		before, _ := h.Token()
		c := redisClient(t, m)
		must.Become(t, "the holder is subscribed", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:lock").Val()) == 1 })
		m.Restart(t)
		lostWithin(t, h, 60*time.Second)
		must.Be(t, h.Release(within(t)), lockops.ErrLost, kind.name, "release")
		h = acquire(t, l)
		if after, _ := h.Token(); after <= before {
			t.Errorf("%s: token %d after %d", kind.name, after, before)
		}
		release(t, h)
	}
}

// If the server's clock jumps ahead, the hold ends by its next renewal. If it is set back, the
// deadline stays, since it follows our own clock, and tokens keep growing.
func TestR9_ClockSteps(t *testing.T) {
	t.Parallel()
	m, clock := servertest.StartRedisWithClock(t)
	c := redisClient(t, m)
	const ttl, step = 6 * time.Second, time.Minute
	for _, kind := range oneRedisKinds {
		s := redisSession(t, m)
		h := acquire(t, kind.make(s, "lock", lockops.WithTTL(ttl)))
		clock.Step(t, step)
		lostWithin(t, h, 60*time.Second)
		start := time.Now()
		h = acquire(t, kind.make(s, "other", lockops.WithTTL(ttl), lockops.WithoutRenewal()))
		before, _ := h.Token()
		clock.Step(t, -step)
		if d, ok := h.Deadline(); !ok || d.Sub(start) > ttl+time.Since(start) {
			t.Errorf("%s: deadline %v after the start, beyond the TTL", kind.name, d.Sub(start))
		}
		lostWithin(t, h, 60*time.Second)
		if left := c.PTTL(within(t), "other").Val(); left < step/2 {
			t.Errorf("%s: the key has %v left, so the clock was not set back", kind.name, left)
		}
		c.Del(within(t), "other")
		h = acquire(t, kind.make(s, "other"))
		if after, _ := h.Token(); after <= before {
			t.Errorf("%s: token %d after %d", kind.name, after, before)
		}
		release(t, h)
	}
}

func TestR10_EvictionIsReported(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t, "--maxmemory-policy", "allkeys-random")
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisMutex(redisSession(t, m), "lock", lockops.WithTTL(3*time.Second)))
	must.Succeed(t, c.ConfigSet(within(t), "maxmemory", "1").Err()) // evicts every key
	c.Set(within(t), "more", "memory", 0)
	lostWithin(t, h, 60*time.Second)
	c.ConfigSet(within(t), "maxmemory", "0")
}

const holderEnv = "LOCKOPS_TEST_HOLDER"

// If the answer takes longer than the TTL, another client may hold the lock by then.
func TestAnswerAfterExpiryGrantsNothing(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	w := servertest.StartWire(t, m.Addr)
	s := must.Have(lockops.NewRedisSession(within(t), []*redis.UniversalOptions{{Addrs: []string{w.Addr()}}}))(t)
	defer s.Close()
	for _, kind := range oneRedisKinds {
		release(t, acquire(t, kind.make(s, "lock")))
		w.Delay(150 * time.Millisecond)
		l := kind.make(s, "lock", lockops.WithTTL(100*time.Millisecond), lockops.WithMasterLimit(5*time.Second))
		if h, err := l.TryAcquire(within(t)); err == nil {
			t.Errorf("%s: acquired an expired lock: %v", kind.name, h.Context().Err())
		}
		w.Heal()
	}
}

// A cancelled waiter leaves neither a key nor an entry in the queue.
func TestRedisCancelWhileWaitingLeavesNothing(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		for _, kind := range oneRedisKinds {
			key := servertest.UniqueName(t)
			h := acquire(t, kind.make(redisSession(t, masters[0]), key))
			ctx, cancel := context.WithCancel(within(t))
			waits, done := make(chan string, 1), make(chan error, 1)
			waiting := redisSession(t, masters[0])
			go func() {
				_, err := kind.make(waiting, key, lockops.OnWaiting(func(name string) { waits <- name })).Acquire(ctx)
				done <- err
			}()
			<-waits
			queue := "lockscope:wait:{" + key + "}"
			if kind.name == "fair" {
				queue = "lockscope:queue:{" + key + "}"
			}
			c := redisClient(t, masters[0])
			must.Become(t, "the waiter is in the queue", func() bool { return c.ZCard(within(t), queue).Val() == 1 })
			cancel()
			c.Persist(within(t), queue) // otherwise it may expire on a busy machine
			<-done
			waiting.Close() // waits for the clean-up
			must.Equal(t, c.ZCard(within(t), queue).Val(), 0, kind.name, "waiters in the queue")
			release(t, h)
			noKey(t, kind.name, masters, key)
		}
	})
}
