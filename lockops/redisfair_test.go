package lockops_test

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

var fair = redisKind("fair")

// Waiters get the lock in order of arrival, in one session or several, even if one of them cancels.
func TestR11_FirstComeFirstServed(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		sessions := []*lockops.RedisSession{redisSession(t, masters[0]), redisSession(t, masters[0]), redisSession(t, masters[0])}
		h := acquire(t, lockops.NewRedisFairMutex(sessions[0], key))
		var queue []<-chan acquired
		for i := range 9 {
			ctx, cancel := context.WithCancel(within(t))
			defer cancel()
			_, got := mustQueue(t, ctx, kindMaker(t, fair, sessions[i%3], key))
			if i == 4 {
				cancel()
				must.Be(t, (<-got).err, context.Canceled)
				continue
			}
			queue = append(queue, got)
		}
		refused(t, lockops.NewRedisFairMutex(sessions[1], key), lockops.ErrHeld)
		for i, got := range queue {
			release(t, h)
			h = granted(t, got)
			for _, later := range queue[i+1:] {
				must.Equal(t, len(later), 0, "grants to a later waiter")
			}
		}
		release(t, h)
		noKey(t, "fair", masters, key)
	})
}

// A release skips a killed waiter at once. It may hand the lock to a paused one, but only for a
// heartbeat.
func TestFairSkipsDeadWaiters(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	s, c := redisSession(t, m), redisClient(t, m)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		h := acquire(t, lockops.NewRedisFairMutex(s, "lock"))
		p := startHolder(t, "fair", "lock", 3*time.Second, m.Addr)
		p.expect(t, "waiting")
		_, got := mustQueue(t, within(t), kindMaker(t, fair, s, "lock"))
		p.signal(t, signal)
		if signal == syscall.SIGKILL {
			_ = p.cmd.Wait()
			must.Become(t, "the server noticed the kill", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:@*").Val()) == 1 })
		}
		release(t, h)
		to, left := get(t, c, "lock"), c.PTTL(within(t), "lock").Val()
		next := granted(t, got)
		toLive := to == next.Name()
		must.True(t, toLive || signal == syscall.SIGSTOP, "handed the lock to the killed waiter", to)
		must.True(t, toLive || left <= time.Second, "handed the lock to a paused waiter for", left, "want at most 1s")
		release(t, next)
		if signal == syscall.SIGSTOP {
			p.signal(t, syscall.SIGCONT)
			p.expect(t, "acquired") // it has queued again
		}
	}
}

// A waiter stays ahead of later ones for longer than two heartbeats. Each new waiter extends the
// queue's TTL to a minute, so that the queue outlives its waiters.
func TestFairWaitersKeepTheirPlace(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	const queue, alive, beat = "lockscope:queue:{lock}", "lockscope:alive:{lock}", time.Second
	first, got := mustQueue(t, within(t), kindMaker(t, fair, redisSession(t, m), "lock"))
	came := c.ZScore(within(t), queue, first).Val()
	must.Become(t, "the waiter has waited for two heartbeats", func() bool {
		heard, _ := c.HGet(within(t), alive, first).Float64()
		long := heard > came+float64((2*beat).Microseconds())
		_, calls, _ := strings.Cut(c.Info(within(t), "commandstats").Val(), "cmdstat_zadd:calls=")
		calls, _, _ = strings.Cut(calls, ",")
		if asked, _ := strconv.Atoi(calls); !long && asked > 8 { // once a heartbeat
			t.Fatalf("the waiter asked %d times, was last heard from at %.0f and came at %.0f", asked, heard, came)
		}
		return long
	})
	c.Del(within(t), queue, alive) // as a restart may do
	must.Become(t, "the waiter is in its old place again", func() bool {
		return c.ZScore(within(t), queue, first).Val() == came
	})
	c.Persist(within(t), queue)
	_, second := mustQueue(t, within(t), kindMaker(t, fair, redisSession(t, m), "lock"))
	ttl := c.PTTL(within(t), queue).Val()
	must.True(t, ttl >= 50*time.Second && ttl <= time.Minute, "the queue expires in", ttl, "want a minute")
	release(t, h)
	next := granted(t, got)
	must.Equal(t, len(second), 0, "grants to the second waiter")
	release(t, next)
	release(t, granted(t, second))
	must.Equal(t, c.Exists(within(t), queue, alive).Val(), 0, "keys of the queue left")
}

// A waiter that gets no message still notices that the lock was handed to it.
func TestFairWaitersFindLostMessages(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	value, got := mustQueue(t, within(t), kindMaker(t, fair, redisSession(t, m), "lock"))
	c.Set(within(t), "lock", value, time.Second) // as the release does, without the message
	c.ZRem(within(t), "lockscope:queue:{lock}", value)
	next := granted(t, got)
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
	lasts(t, next, 20*time.Second)
	release(t, next)
}

// When a dead holder's TTL ends, the first waiter gets the lock within a heartbeat.
func TestFairLockSurvivesDeadHolder(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		dead := redisSession(t, masters[0])
		acquire(t, lockops.NewRedisFairMutex(dead, key, lockops.WithTTL(3*time.Second)))
		dead.Close()
		release(t, acquire(t, lockops.NewRedisFairMutex(redisSession(t, masters[0]), key)))
	})
}

// A lock handed over with a short TTL is renewed to the full TTL. A busy machine may miss the short
// TTL, but not every time.
func TestFairHandoffIsRenewed(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	for range 5 {
		if handOverIsKept(t, m) {
			return
		}
	}
	t.Error("the lock was lost before its first renewal, five times")
}

func handOverIsKept(t *testing.T, m *servertest.Redis) bool {
	t.Helper()
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	renewed := make(chan time.Time, 10)
	note := lockops.OnRenew(func(d time.Time) { renewed <- d })
	_, got := mustQueue(t, within(t), kindMaker(t, fair, redisSession(t, m), "lock", note))
	release(t, h)
	next := granted(t, got)
	d, ok := next.Deadline()
	pttl := c.PTTL(within(t), "lock").Val() // read later, so only a renewal can make it longer
	left := time.Until(d)
	must.True(t, !ok || left <= pttl || next.Context().Err() != nil, "the key lives for", pttl, "but the holder trusts it for", left)
	select {
	case <-renewed:
	case <-next.Context().Done():
		_ = next.Release(within(t))
		return false
	}
	lasts(t, next, 20*time.Second)
	must.Be(t, next.Extend(within(t)), nil)
	release(t, next)
	return true
}

// A newcomer does not overtake the waiters, even if the holder's key has expired.
func TestFairNewcomerQueuesLast(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	name, got := mustQueue(t, within(t), kindMaker(t, fair, redisSession(t, m), "lock"))
	newcomer := redisSession(t, m)
	redisClient(t, m).Del(within(t), "lock") // as if the holder's TTL had expired
	refused(t, lockops.NewRedisFairMutex(newcomer, "lock"), lockops.ErrHeld)
	next := granted(t, got)
	must.Equal(t, next.Name(), name, "holder")
	release(t, next)
	_ = h.Release(within(t))
}
