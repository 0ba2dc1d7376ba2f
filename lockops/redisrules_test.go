package lockops_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/servertest"
	"lockscope/lockops"
)

// lostWithin waits until a hold ends because it was lost.
func lostWithin(t testing.TB, h *lockops.Hold, limit time.Duration) {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(limit):
		t.Fatalf("the loss was not told within %v", limit)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, lockops.ErrLost) {
		t.Fatalf("cause %v, want ErrLost", cause)
	}
}

// TestR7_FailoverIsToldAndTokensGrow: a replica that has not got the lock is promoted. The hold ends, far from its
// deadline, since the server went; the next holder's token is above its own. That both may hold in between is not
// prevented: replication is asynchronous.
func TestR7_FailoverIsToldAndTokensGrow(t *testing.T) {
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	connect := func() *lockops.RedisSession {
		s, err := lockops.NewRedisSession(within(t), []*redis.UniversalOptions{{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}})
		if err != nil {
			t.Fatal(err)
		}
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
	eventually(t, "the holder listens", func() bool {
		return len(c.PubSubChannels(within(t), "lockscope:wake:lock").Val()) == 1
	})
	redisClient(t, replica).Do(within(t), "REPLICAOF", "NO", "ONE")
	master.Kill(t)
	host, port, _ := strings.Cut(replica.Addr, ":")
	sc := redis.NewClient(&redis.Options{Addr: sentinel, Protocol: 2})
	defer sc.Close()
	sc.Do(within(t), "SENTINEL", "REMOVE", servertest.SentinelMaster)
	if err := sc.Do(within(t), "SENTINEL", "MONITOR", servertest.SentinelMaster, host, port, "1").Err(); err != nil {
		t.Fatal(err)
	}
	lostWithin(t, first, 25*time.Second)
	second := acquire(t, lockops.NewRedisMutex(connect(), "lock"))
	if after, ok := second.Token(); !ok || after <= before {
		t.Errorf("token %d (%v) after %d, of the master before", after, ok, before)
	}
	release(t, second)
}

// TestR8_RestartIsTold: a master that restarts empty has lost the lock; the hold ends when it comes back, long
// before it would have renewed, and tokens go on.
func TestR8_RestartIsTold(t *testing.T) {
	m := servertest.StartRedis(t)
	for _, kind := range oneRedisKinds {
		s := redisSession(t, m)
		l := kind.make(s, "lock", lockops.WithTTL(time.Hour))
		h := acquire(t, l)
		before, _ := h.Token()
		c := redisClient(t, m)
		eventually(t, "the holder listens", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:lock").Val()) == 1 })
		m.Restart(t)
		lostWithin(t, h, 20*time.Second)
		if err := h.Release(within(t)); !errors.Is(err, lockops.ErrLost) {
			t.Errorf("%s: release: %v, want ErrLost", kind.name, err)
		}
		h = acquire(t, l)
		if after, _ := h.Token(); after <= before {
			t.Errorf("%s: token %d after %d", kind.name, after, before)
		}
		release(t, h)
	}
}

// TestR9_ClockSteps: when the server's clock leaps the key is gone early: the hold ends at its next renewal at the
// latest. When it is set back the key stays longer, and the holder's deadline does not: it goes by our own clock. Either
// way the lock can be taken afterwards, though requests carry a limit by the server's clock, and its tokens grow.
func TestR9_ClockSteps(t *testing.T) {
	m, clock := servertest.StartRedisWithClock(t)
	c := redisClient(t, m)
	const ttl, step = 1500 * time.Millisecond, time.Minute
	for _, kind := range oneRedisKinds {
		s := redisSession(t, m)
		h := acquire(t, kind.make(s, "lock", lockops.WithTTL(ttl)))
		clock.Step(t, step)
		lostWithin(t, h, ttl)
		start := time.Now()
		h = acquire(t, kind.make(s, "other", lockops.WithTTL(ttl), lockops.WithoutRenewal()))
		before, _ := h.Token()
		clock.Step(t, -step)
		if d, ok := h.Deadline(); !ok || d.Sub(start) > ttl+time.Since(start) {
			t.Errorf("%s: deadline %v after the start", kind.name, d.Sub(start))
		}
		lostWithin(t, h, 30*time.Second)
		if left := c.PTTL(within(t), "other").Val(); left < step/2 {
			t.Errorf("%s: the key has %v left: the clock was not set back", kind.name, left)
		}
		c.Del(within(t), "other")
		h = acquire(t, kind.make(s, "other", lockops.WithTTL(ttl)))
		if after, _ := h.Token(); after <= before {
			t.Errorf("%s: token %d after %d", kind.name, after, before)
		}
		release(t, h)
	}
}

// TestR10_EvictionIsTold: a server that may evict any key takes the lock for memory.
func TestR10_EvictionIsTold(t *testing.T) {
	m := servertest.StartRedis(t, "--maxmemory-policy", "allkeys-random")
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisMutex(redisSession(t, m), "lock", lockops.WithTTL(600*time.Millisecond)))
	if err := c.ConfigSet(within(t), "maxmemory", "1").Err(); err != nil { // all must go
		t.Fatal(err)
	}
	c.Set(within(t), "more", "memory", 0)
	lostWithin(t, h, 30*time.Second)
	c.ConfigSet(within(t), "maxmemory", "0")
}

// TestR11_FirstComeFirstServed: over sessions and within one, whatever comes between.
func TestR11_FirstComeFirstServed(t *testing.T) {
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
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
			})
			<-waits
			if i == 4 {
				cancel()
				if err := <-cancelled; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
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
			if got := <-order; got != i {
				t.Errorf("%d got it in the place of %d", got, i)
			}
		}
		all.Wait()
		noKey(t, "fair", masters, key)
	})
}

const holderEnv = "LOCKOPS_TEST_HOLDER"

// TestHolderProcess is no test but the process that the tests of a paused client start. It takes a lock and prints what
// // happens.
func TestHolderProcess(t *testing.T) {
	config := os.Getenv(holderEnv)
	if config == "" {
		return
	}
	kind, addrs, _ := strings.Cut(config, " ")
	var options []*redis.UniversalOptions
	for _, a := range strings.Split(addrs, ",") {
		options = append(options, &redis.UniversalOptions{Addrs: []string{a}})
	}
	s, err := lockops.NewRedisSession(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	ttl := lockops.WithTTL(700 * time.Millisecond)
	var l lockops.Locker = lockops.NewRedlock(s, "lock", ttl)
	switch kind {
	case "mutex":
		l = lockops.NewRedisMutex(s, "lock", ttl)
	case "fair", "fair-waiter":
		opts := []lockops.Option{ttl, lockops.OnWaiting(func(string) { fmt.Println("waiting") })}
		if kind == "fair-waiter" {
			opts[0] = lockops.WithTTL(3 * time.Second)
		}
		l = lockops.NewRedisFairMutex(s, "lock", opts...)
	}
	h, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("acquired")
	go func() {
		<-h.Context().Done()
		fmt.Println("lost", time.Now().UnixNano())
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := h.Release(context.Background()); err != nil {
		fmt.Println("release:", err)
	}
	os.Exit(0)
}

// process is a client in a process of its own.
type clientProcess struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startClient(t testing.TB, kind string, masters ...*servertest.Redis) *clientProcess {
	t.Helper()
	var addrs []string
	for _, m := range masters {
		addrs = append(addrs, m.Addr)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHolderProcess$")
	cmd.Env = append(os.Environ(), holderEnv+"="+kind+" "+strings.Join(addrs, ","))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &clientProcess{cmd, bufio.NewScanner(out)}
}

func (p *clientProcess) expect(t testing.TB, word string) (rest string) {
	t.Helper()
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("the client ended without %q", word)
	return ""
}

func (p *clientProcess) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := servertest.Signal(p.cmd.Process, s); err != nil {
		t.Fatal(err)
	}
}

// TestL6_PausedHolderIsToldWhenItGoesOn: a holder that is stopped beyond its TTL cannot know that another holds the lock;
// its hold ends as soon as it goes on, and its late release does the other no harm.
func TestL6_PausedHolderIsToldWhenItGoesOn(t *testing.T) {
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	for _, kind := range []string{"mutex", "fair", "redlock"} {
		on := masters[:1]
		if kind == "redlock" {
			on = masters
		}
		p := startClient(t, kind, on...)
		p.expect(t, "acquired")
		p.signal(t, syscall.SIGSTOP)
		var l lockops.Locker
		switch kind {
		case "mutex":
			l = lockops.NewRedisMutex(redisSession(t, on...), "lock")
		case "fair":
			l = lockops.NewRedisFairMutex(redisSession(t, on...), "lock")
		case "redlock":
			l = lockops.NewRedlock(redisSession(t, on...), "lock")
		}
		h := acquire(t, l) // when the TTL is over
		resumed := time.Now()
		p.signal(t, syscall.SIGCONT)
		var at int64
		if _, err := fmt.Sscan(p.expect(t, "lost"), &at); err != nil {
			t.Fatal(err)
		}
		if late := time.Duration(at - resumed.UnixNano()); late > 10*time.Second {
			t.Errorf("%s: told %v after it went on", kind, late)
		}
		if err := h.Extend(within(t)); err != nil {
			t.Errorf("%s: the other's lock: %v", kind, err)
		}
		release(t, h)
	}
}

// TestFairSkipsDeadWaiters: one that was killed costs nothing, one that is stopped a heartbeat.
func TestFairSkipsDeadWaiters(t *testing.T) {
	m := servertest.StartRedis(t)
	s := redisSession(t, m)
	for _, death := range []struct {
		name   string
		signal syscall.Signal
		cost   time.Duration
	}{{"killed", syscall.SIGKILL, 500 * time.Millisecond}, {"stopped", syscall.SIGSTOP, 2500 * time.Millisecond}} {
		h := acquire(t, lockops.NewRedisFairMutex(s, "lock"))
		p := startClient(t, "fair-waiter", m)
		p.expect(t, "waiting")
		waits, got := make(chan string, 1), make(chan *lockops.Hold, 1)
		go func() {
			h, err := lockops.NewRedisFairMutex(s, "lock", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		<-waits
		p.signal(t, death.signal)
		if death.signal == syscall.SIGKILL {
			_ = p.cmd.Wait()
			c := redisClient(t, m)
			eventually(t, "the server knows", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:@*").Val()) == 1 })
		}
		start := time.Now()
		release(t, h)
		next := <-got
		if took := time.Since(start); took > death.cost {
			t.Errorf("%s: the next waited %v, want at most %v", death.name, took, death.cost)
		}
		if next != nil {
			release(t, next)
		}
		if death.signal == syscall.SIGSTOP {
			p.signal(t, syscall.SIGCONT)
			p.expect(t, "acquired") // it stands in the queue again
		}
	}
}

// TestFairWaitersKeepTheirPlace: who waits for longer than two heartbeats goes before who came later, and the queue outlives
// all who stand in it.
func TestFairWaitersKeepTheirPlace(t *testing.T) {
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
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		})
		return <-waits
	}
	first := wait()
	came := c.ZScore(within(t), queue, first).Val()
	eventually(t, "it waits for longer than two heartbeats", func() bool {
		heard, _ := c.HGet(within(t), alive, first).Float64()
		return heard > came+float64((2*beat).Microseconds())
	})
	c.ZAddArgs(within(t), queue, redis.ZAddArgs{XX: true, Members: []redis.Z{{Score: came - 10e6, Member: first}}})
	c.Persist(within(t), queue)
	second := wait() // the first to come in ten seconds
	if ttl := c.PTTL(within(t), queue).Val(); ttl < 50*time.Second || ttl > time.Minute {
		t.Errorf("the queue expires in %v, want a minute", ttl)
	}
	release(t, h)
	if got := <-order; got != first {
		t.Errorf("%s got it before %s", got, first)
	}
	if got := <-order; got != second {
		t.Errorf("%s got it, want %s", got, second)
	}
	all.Wait()
	if n := c.Exists(within(t), queue, alive).Val(); n != 0 {
		t.Errorf("%d keys of the queue are left", n)
	}
}

// TestFairWaitersFindLostMessages: no message comes to whoever waits, and the lock goes on.
func TestFairWaitersFindLostMessages(t *testing.T) {
	m := servertest.StartRedis(t)
	s, other := redisSession(t, m), redisSession(t, m)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(s, "lock"))
	waits, got := make(chan string, 1), make(chan *lockops.Hold, 1)
	go func() {
		h, err := lockops.NewRedisFairMutex(other, "lock", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	value := <-waits
	c.Set(within(t), "lock", value, time.Second) // as the release does, but for the message
	c.ZRem(within(t), "lockscope:queue:{lock}", value)
	next := <-got
	if next == nil {
		return
	}
	if err := h.Release(within(t)); !errors.Is(err, lockops.ErrLost) {
		t.Errorf("release: %v, want ErrLost", err)
	}
	if d, ok := next.Deadline(); !ok || time.Until(d) < 20*time.Second {
		t.Errorf("deadline in %v, want that of the full TTL", time.Until(d))
	}
	release(t, next)
}

// TestFairDeadHolder: when a holder's TTL ends, the first waiter gets the lock within a heartbeat.
func TestFairDeadHolder(t *testing.T) {
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		dead := redisSession(t, masters[0])
		acquire(t, lockops.NewRedisFairMutex(dead, key, lockops.WithTTL(400*time.Millisecond)))
		dead.Close()
		start := time.Now()
		h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, masters[0]), key))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		release(t, h)
	})
}

// TestFairHandOverIsKept: what was handed over with a short TTL is renewed to the full one, and is kept.
func TestFairHandOverIsKept(t *testing.T) {
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	renewed := make(chan time.Time, 10)
	got := make(chan *lockops.Hold, 1)
	waits := make(chan string, 1)
	go func() {
		h, err := lockops.NewRedisFairMutex(redisSession(t, m), "lock", lockops.OnRenew(func(d time.Time) { renewed <- d }),
			lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	<-waits
	release(t, h)
	next := <-got
	pttl := c.PTTL(within(t), "lock").Val()
	d, ok := next.Deadline()
	if left := time.Until(d); !ok || pttl > time.Second || left > pttl {
		t.Errorf("the key lives for %v, the holder trusts it for %v", pttl, left)
	}
	<-renewed
	if d, ok := next.Deadline(); !ok || time.Until(d) < 20*time.Second {
		t.Errorf("deadline in %v after the first renewal", time.Until(d))
	}
	if err := next.Extend(within(t)); err != nil {
		t.Error(err)
	}
	release(t, next)
}

// TestAnswerAfterTheTTLIsNoLock: an answer that took longer than the TTL may be of a lock that somebody else has by now.
func TestAnswerAfterTheTTLIsNoLock(t *testing.T) {
	m := servertest.StartRedis(t)
	w := servertest.StartWire(t, m.Addr)
	s, err := lockops.NewRedisSession(within(t), []*redis.UniversalOptions{{Addrs: []string{w.Addr()}}})
	if err != nil {
		t.Fatal(err)
	}
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
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		for _, kind := range oneRedisKinds {
			key := servertest.UniqueName(t)
			h := acquire(t, kind.make(redisSession(t, masters[0]), key))
			ctx, cancel := context.WithCancel(within(t))
			waits, done := make(chan string, 1), make(chan error, 1)
			go func() {
				_, err := kind.make(redisSession(t, masters[0]), key, lockops.OnWaiting(func(name string) { waits <- name })).Acquire(ctx)
				done <- err
			}()
			<-waits
			queue := "lockscope:wait:{" + key + "}"
			if kind.name == "fair" {
				queue = "lockscope:queue:{" + key + "}"
			}
			c := redisClient(t, masters[0])
			eventually(t, "it stands in the queue", func() bool { return c.ZCard(within(t), queue).Val() == 1 })
			cancel()
			<-done
			for end := time.Now().Add(2 * time.Second); c.ZCard(within(t), queue).Val() != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: it stands in the queue yet", kind.name)
				}
			}
			release(t, h)
			noKey(t, kind.name, masters, key)
		}
	})
}

// TestFairNewcomerStandsBehind: also when the key is free because its holder died.
func TestFairNewcomerStandsBehind(t *testing.T) {
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisFairMutex(redisSession(t, m), "lock"))
	waits, got := make(chan string, 1), make(chan *lockops.Hold, 1)
	go func() {
		h, err := lockops.NewRedisFairMutex(redisSession(t, m), "lock", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	name := <-waits
	newcomer := redisSession(t, m)
	c.Del(within(t), "lock") // the holder's TTL has run out
	if _, err := lockops.NewRedisFairMutex(newcomer, "lock").TryAcquire(within(t)); !errors.Is(err, lockops.ErrHeld) {
		t.Errorf("TryAcquire: %v, want ErrHeld", err)
	}
	next := <-got
	if next == nil || next.Name() != name {
		t.Fatalf("%v got it", next)
	}
	release(t, next)
	_ = h.Release(within(t))
}
