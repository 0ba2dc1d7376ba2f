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

// lostWithin waits until a hold ends because it was lost.
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

// TestR7_FailoverIsReportedAndTokensGrow: a replica that has not got the lock is promoted. The hold ends, far from its
// deadline, since the server went; the next holder's token is above its own. That both may hold in between is not
// prevented: replication is asynchronous.
func TestR7_FailoverIsReportedAndTokensGrow(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	connect := func() *lockops.RedisSession {
		s := must.Have(lockops.NewRedisSession(within(t), []*redis.UniversalOptions{{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}}))(t)
		t.Cleanup(s.Close)
		return s
	}
	for _, kind := range oneRedisKinds {
		release(t, acquire(t, kind.make(connect(), "lock:"+kind.name))) // through the sentinel
	}
	redisClient(t, replica).ReplicaOf(within(t), "127.0.0.1", "1") // it hears no more of the master
	first := acquire(t, lockops.NewRedisMutex(connect(), "lock", lockops.WithTTL(time.Hour)))
	before, _ := first.Token()
	c := redisClient(t, master)
	must.Become(t, "the holder listens", func() bool {
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
		t.Errorf("token %d (%v) after %d, of the master before", after, ok, before)
	}
	release(t, second)
}

// TestR8_RestartIsReported: a master that restarts empty has lost the lock; the hold ends when it comes back, long
// before it would have renewed, and tokens go on.
func TestR8_RestartIsReported(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	for _, kind := range oneRedisKinds {
		s := redisSession(t, m)
		l := kind.make(s, "lock", lockops.WithTTL(time.Hour))
		h := acquire(t, l)
		before, _ := h.Token()
		c := redisClient(t, m)
		must.Become(t, "the holder listens", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:lock").Val()) == 1 })
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

// TestR9_ClockSteps: when the server's clock leaps the key is gone early: the hold ends at its next renewal
// at the latest. When it is set back the key stays longer, and the holder's deadline does not: it goes by our
// own clock. Either way the lock can be taken afterwards, though requests carry a limit by the server's
// clock, and its tokens grow.
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
			t.Errorf("%s: deadline %v after the start", kind.name, d.Sub(start))
		}
		lostWithin(t, h, 60*time.Second)
		if left := c.PTTL(within(t), "other").Val(); left < step/2 {
			t.Errorf("%s: the key has %v left: the clock was not set back", kind.name, left)
		}
		c.Del(within(t), "other")
		h = acquire(t, kind.make(s, "other"))
		if after, _ := h.Token(); after <= before {
			t.Errorf("%s: token %d after %d", kind.name, after, before)
		}
		release(t, h)
	}
}

// TestR10_EvictionIsReported: a server that may evict any key takes the lock for memory.
func TestR10_EvictionIsReported(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t, "--maxmemory-policy", "allkeys-random")
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisMutex(redisSession(t, m), "lock", lockops.WithTTL(3*time.Second)))
	must.Succeed(t, c.ConfigSet(within(t), "maxmemory", "1").Err()) // all must go
	c.Set(within(t), "more", "memory", 0)
	lostWithin(t, h, 60*time.Second)
	c.ConfigSet(within(t), "maxmemory", "0")
}

const holderEnv = "LOCKOPS_TEST_HOLDER"

// An answer that took longer than the TTL may be of a lock that another client
// has by now.
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
			t.Errorf("%s: got a lock that had run out: %v", kind.name, h.Context().Err())
		}
		w.Heal()
	}
}

// TestRedisCancelWhileWaitingLeavesNothing: neither a key nor a place in a queue.
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
			must.Become(t, "it stands in the queue", func() bool { return c.ZCard(within(t), queue).Val() == 1 })
			cancel()
			c.Persist(within(t), queue) // else it expires within the time that a busy machine has
			<-done
			waiting.Close() // waits for what the end of the wait left to do
			must.Equal(t, c.ZCard(within(t), queue).Val(), 0, kind.name, "in the queue, which it has left")
			release(t, h)
			noKey(t, kind.name, masters, key)
		}
	})
}
