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

// TestR11_FirstComeFirstServed: over sessions and within one, whatever comes between.
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
			must.Equal(t, <-order, i, "got it in the place of")
		}
		all.Wait()
		noKey(t, "fair", masters, key)
	})
}

// TestFairSkipsDeadWaiters: one that was killed costs nothing, the next is handed the lock at once; one that
// is stopped is handed it for a heartbeat.
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
			must.Become(t, "the server knows", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:@*").Val()) == 1 })
		}
		release(t, h)
		to, left := get(t, c, "lock"), c.PTTL(within(t), "lock").Val()
		next := <-got
		if next == nil {
			t.FailNow()
		}
		if signal == syscall.SIGKILL && to != next.Name() {
			t.Errorf("the lock was handed to %q, want the living %q", to, next.Name())
		}
		if signal == syscall.SIGSTOP && to != next.Name() && left > time.Second {
			t.Errorf("the lock was handed for %v to who is stopped", left)
		}
		release(t, next)
		if signal == syscall.SIGSTOP {
			p.signal(t, syscall.SIGCONT)
			p.expect(t, "acquired") // it is in the queue again
		}
	}
}

// TestFairWaitersKeepTheirPlace: a waiter of more than two heartbeats stays ahead of later ones,
// and the queue outlives all its waiters.
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
	must.Become(t, "it waits for longer than two heartbeats", func() bool {
		heard, _ := c.HGet(within(t), alive, first).Float64()
		long := heard > came+float64((2*beat).Microseconds())
		if asked := callsOf(t, c, "zadd"); !long && asked > 8 { // once a heartbeat
			t.Fatalf("it asked %d times, and was heard of at %.0f, having come at %.0f", asked, heard, came)
		}
		return long
	})
	c.ZAddArgs(within(t), queue, redis.ZAddArgs{XX: true, Members: []redis.Z{{Score: came - 10e6, Member: first}}})
	c.Persist(within(t), queue)
	second := wait() // the first to come in ten seconds
	if ttl := c.PTTL(within(t), queue).Val(); ttl < 50*time.Second || ttl > time.Minute {
		t.Errorf("the queue expires in %v, want a minute", ttl)
	}
	release(t, h)
	must.Equal(t, <-order, first, "got it before")
	must.Equal(t, <-order, second, "got it")
	all.Wait()
	must.Equal(t, c.Exists(within(t), queue, alive).Val(), 0, "keys of the queue are left")
}

// TestFairWaitersFindLostMessages: waiters get no messages, and the lock goes on.
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
	c.Set(within(t), "lock", value, time.Second) // as the release does, but for the message
	c.ZRem(within(t), "lockscope:queue:{lock}", value)
	next := <-got
	if next == nil {
		return
	}
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
	if d, ok := next.Deadline(); !ok || time.Until(d) < 20*time.Second {
		t.Errorf("deadline in %v, want that of the full TTL", time.Until(d))
	}
	release(t, next)
}

// TestFairDeadHolder: when a holder's TTL ends, the first waiter gets the lock within a heartbeat.
func TestFairDeadHolder(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		dead := redisSession(t, masters[0])
		acquire(t, lockops.NewRedisFairMutex(dead, key, lockops.WithTTL(3*time.Second)))
		dead.Close()
		release(t, acquire(t, lockops.NewRedisFairMutex(redisSession(t, masters[0]), key)))
	})
}

// TestFairHandOverIsKept: a lock handed over with a short TTL is renewed to the full one, and is kept. A busy
// machine may be late for a TTL of a second, but not each time.
func TestFairHandOverIsKept(t *testing.T) {
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
	pttl := c.PTTL(within(t), "lock").Val() // later: of a renewal in between at the most
	if left := time.Until(d); ok && left > pttl && a.h.Context().Err() == nil {
		t.Errorf("the key lives for %v, the holder trusts it for %v", pttl, left)
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

// callsOf counts a command since the server started, also from scripts.
func callsOf(t testing.TB, c *redis.Client, command string) (n int) {
	t.Helper()
	info := must.Have(c.Info(within(t), "commandstats").Result())(t)
	_, counts, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
	counts, _, _ = strings.Cut(counts, ",")
	n, _ = strconv.Atoi(counts) // one that was never called is not listed
	return n
}

// TestFairNewcomerStandsBehind: also when the key is free because its holder died.
func TestFairNewcomerStandsBehind(t *testing.T) {
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
	c.Del(within(t), "lock") // the holder's TTL has run out
	if overtook, err := lockops.NewRedisFairMutex(newcomer, "lock").TryAcquire(within(t)); !errors.Is(err, lockops.ErrHeld) {
		t.Errorf("TryAcquire: %v, want ErrHeld", err)
		if err == nil {
			release(t, overtook)
		}
	}
	next := <-got
	if next == nil || next.Name() != name {
		t.Fatalf("%v got it", next)
	}
	release(t, next)
	_ = h.Release(within(t))
}
