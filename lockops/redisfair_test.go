package lockops_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// Waiters get the lock in order of arrival, in one session or several, even if one of them cancels.
func TestR11_FirstComeFirstServed(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		sessions := []*lockops.RedisSession{redisSession(t, masters[0]), redisSession(t, masters[0]), redisSession(t, masters[0])}
		h := acquire(t, lockops.NewRedisFairMutex(sessions[0], key))
		const n = 9
		order := make(chan int, n)
		cancelled := make(chan error, 1)
		var all sync.WaitGroup
		for i := range n {
			ctx, cancel := context.WithCancel(within(t))
			defer cancel()
			waits := make(chan string, 1)
			all.Go(func() {
				h, err := lockops.NewRedisFairMutex(sessions[i%3], key, lockops.OnWaiting(func(name string) { waits <- name })).Acquire(ctx)
				if err != nil {
					cancelled <- err
					return
				}
				order <- i
				must.Be(t, h.Release(within(t)), nil)
			})
			<-waits
			if i == 4 {
				cancel()
				must.Be(t, <-cancelled, context.Canceled)
			}
		}
		if _, err := lockops.NewRedisFairMutex(sessions[1], key).TryAcquire(within(t)); !errors.Is(err, lockops.ErrHeld) {
			t.Errorf("TryAcquire: %v, want ErrHeld", err)
		}
		release(t, h)
		for i := range n {
			if i == 4 {
				continue
			}
			must.Equal(t, <-order, i, "next holder")
		}
		all.Wait()
		noKey(t, "fair", masters, key)
	})
}

// A release skips a killed waiter at once. It may hand the lock to a paused one, but only for a
// heartbeat.
func TestFairSkipsDeadWaiters(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s, c := redisSession(t, m), redisClient(t, m)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		h := acquire(t, lockops.NewRedisFairMutex(s, "lock"))
		p := startClient(t, "fair", m)
		p.expect(t, "waiting")
		waits, got := make(chan string, 1), make(chan *lockops.Hold, 1)
		go func() {
			h, err := lockops.NewRedisFairMutex(s, "lock", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
			must.Be(t, err, nil)
			got <- h
		}()
		<-waits
		p.signal(t, signal)
		if signal == syscall.SIGKILL {
			_ = p.cmd.Wait()
			must.Become(t, "the server noticed the kill", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:@*").Val()) == 1 })
		}
		release(t, h)
		to, left := get(t, c, "lock"), c.PTTL(within(t), "lock").Val()
		next := <-got
		if next == nil {
			t.FailNow()
		}
		if signal == syscall.SIGKILL && to != next.Name() {
			t.Errorf("handed the lock to %q, want the live waiter %q", to, next.Name())
		}
		if signal == syscall.SIGSTOP && to != next.Name() && left > time.Second {
			t.Errorf("handed the lock to the paused waiter for %v, want at most 1s", left)
		}
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
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	const queue, alive, beat = "lockscope:queue:{lock}", "lockscope:alive:{lock}", time.Second
	waits, order := make(chan string, 1), make(chan string, 2)
	var all sync.WaitGroup
	wait := func() string {
		s := redisSession(t, m)
		all.Go(func() {
			h, err := lockops.NewRedisFairMutex(s, "lock", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
			if err != nil {
				t.Error(err)
				return
			}
			order <- h.Name()
			must.Be(t, h.Release(within(t)), nil)
		})
		return <-waits
	}
	first := wait()
	came := c.ZScore(within(t), queue, first).Val()
	must.Become(t, "the waiter has waited for two heartbeats", func() bool {
		heard, _ := c.HGet(within(t), alive, first).Float64()
		long := heard > came+float64((2*beat).Microseconds())
		if asked := callsOf(t, c, "zadd"); !long && asked > 8 { // once a heartbeat
			t.Fatalf("the waiter asked %d times, was last heard from at %.0f and came at %.0f", asked, heard, came)
		}
		return long
	})
	c.Del(within(t), queue, alive) // as a restart may do
	must.Become(t, "the waiter is in its old place again", func() bool {
		return c.ZScore(within(t), queue, first).Val() == came
	})
	c.Persist(within(t), queue)
	second := wait()
	if ttl := c.PTTL(within(t), queue).Val(); ttl < 50*time.Second || ttl > time.Minute {
		t.Errorf("the queue expires in %v, want a minute", ttl)
	}
	release(t, h)
	must.Equal(t, <-order, first, "first holder")
	must.Equal(t, <-order, second, "second holder")
	all.Wait()
	must.Equal(t, c.Exists(within(t), queue, alive).Val(), 0, "keys of the queue left")
}

// A waiter that gets no message still notices that the lock was handed to it.
func TestFairWaitersFindLostMessages(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s, other := redisSession(t, m), redisSession(t, m)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(s, "lock"))
	waits, got := make(chan string, 1), make(chan *lockops.Hold, 1)
	go func() {
		h, err := lockops.NewRedisFairMutex(other, "lock", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
		must.Be(t, err, nil)
		got <- h
	}()
	value := <-waits
	c.Set(within(t), "lock", value, time.Second) // as the release does, without the message
	c.ZRem(within(t), "lockscope:queue:{lock}", value)
	next := <-got
	if next == nil {
		return
	}
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
	if d, ok := next.Deadline(); !ok || time.Until(d) < 20*time.Second {
		t.Errorf("deadline in %v, want the full TTL", time.Until(d))
	}
	release(t, next)
}

// When a dead holder's TTL ends, the first waiter gets the lock within a heartbeat.
func TestFairLockSurvivesDeadHolder(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
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
	m := servertest.StartRedis(t)
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
	_, got := queueUp(t, within(t), func(opts ...lockops.Option) lockops.Locker {
		return lockops.NewRedisFairMutex(redisSession(t, m), "lock", append(opts, lockops.OnRenew(func(d time.Time) { renewed <- d }))...)
	})
	release(t, h)
	a := <-got
	must.Succeed(t, a.err)
	d, ok := a.h.Deadline()
	pttl := c.PTTL(within(t), "lock").Val() // read later, so only a renewal can make it longer
	if left := time.Until(d); ok && left > pttl && a.h.Context().Err() == nil {
		t.Errorf("the key lives for %v, but the holder trusts it for %v", pttl, left)
	}
	select {
	case <-renewed:
	case <-a.h.Context().Done():
		_ = a.h.Release(within(t))
		return false
	}
	if d, ok := a.h.Deadline(); !ok || time.Until(d) < 20*time.Second {
		t.Errorf("deadline in %v after the first renewal", time.Until(d))
	}
	must.Be(t, a.h.Extend(within(t)), nil)
	release(t, a.h)
	return true
}

// callsOf returns how often a command has run since the server started, including in scripts.
func callsOf(t testing.TB, c *redis.Client, command string) (n int) {
	t.Helper()
	info := must.Have(c.Info(within(t), "commandstats").Result())(t)
	_, counts, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
	counts, _, _ = strings.Cut(counts, ",")
	n, _ = strconv.Atoi(counts) // commands never called are not listed
	return n
}

// A newcomer does not overtake the waiters, even if the holder's key has expired.
func TestFairNewcomerQueuesLast(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	waits, got := make(chan string, 1), make(chan *lockops.Hold, 1)
	go func() {
		h, err := lockops.NewRedisFairMutex(redisSession(t, m), "lock", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
		must.Be(t, err, nil)
		got <- h
	}()
	name := <-waits
	newcomer := redisSession(t, m)
	c.Del(within(t), "lock") // as if the holder's TTL had expired
	if overtook, err := lockops.NewRedisFairMutex(newcomer, "lock").TryAcquire(within(t)); !errors.Is(err, lockops.ErrHeld) {
		t.Errorf("TryAcquire: %v, want ErrHeld", err)
		if err == nil {
			release(t, overtook)
		}
	}
	next := <-got
	if next == nil || next.Name() != name {
		t.Fatalf("hold %v, want the first waiter's", next)
	}
	release(t, next)
	_ = h.Release(within(t))
}
