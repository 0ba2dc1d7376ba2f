package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// oneRedisKinds are the locks on one Redis. Unless the test sets a time limit, the default suits a
// busy machine.
var oneRedisKinds = []struct {
	name string
	make func(s *lockops.RedisSession, key string, opts ...lockops.Option) lockops.Locker
}{
	{"mutex", func(s *lockops.RedisSession, key string, opts ...lockops.Option) lockops.Locker {
		return lockops.NewRedisMutex(s, key, slices.Concat([]lockops.Option{patient}, opts)...)
	}},
	{"fair", func(s *lockops.RedisSession, key string, opts ...lockops.Option) lockops.Locker {
		return lockops.NewRedisFairMutex(s, key, slices.Concat([]lockops.Option{patient}, opts)...)
	}},
}

// While a server runs a long script or is a replica, calls wait instead of failing.
func TestTransientRepliesAreWaitedFor(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t, "--busy-reply-threshold", "20")
	c := redisClient(t, m)
	states := []struct {
		name  string
		begin func()
		end   func()
	}{
		{"BUSY", func() {
			go redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, MaxRetries: -1}).Eval(context.Background(), "while true do end", nil)
			must.Become(t, "the server is busy", func() bool { return redis.HasErrorPrefix(c.Ping(within(t)).Err(), "BUSY") })
		}, func() { c.ScriptKill(within(t)) }},
		{"READONLY", func() { c.ReplicaOf(within(t), "127.0.0.1", "1") }, func() { c.ReplicaOf(within(t), "NO", "ONE") }},
	}
	s := redisSession(t, m)
	for _, kind := range oneRedisKinds {
		for _, state := range states {
			t.Run(kind.name+"/"+state.name, func(t *testing.T) {
				l := kind.make(s, servertest.UniqueName(t))
				var h *lockops.Hold
				for _, step := range []struct {
					name string
					do   func() error
				}{
					{"acquire", func() (err error) { h, err = l.Acquire(within(t)); return err }},
					{"extend", func() error { return h.Extend(within(t)) }},
					{"release", func() error { return h.Release(within(t)) }},
				} {
					state.begin()
					done := make(chan error, 1)
					go func() { done <- step.do() }()
					select {
					case err := <-done:
						t.Fatalf("%s did not wait: %v", step.name, err)
					case <-time.After(150 * time.Millisecond):
					}
					state.end()
					if err := <-done; err != nil {
						t.Fatalf("%s: %v", step.name, err)
					}
				}
			})
		}
	}
}

// TryAcquire ends even if its context has no deadline.
func TestTryAcquireEndsOnHungServer(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s := redisSession(t, m)
	for _, kind := range oneRedisKinds {
		l := kind.make(s, "lock", lockops.WithMasterLimit(50*time.Millisecond))
		release(t, acquire(t, l))
		m.Pause(t)
		done := make(chan error, 1)
		go func() { _, err := l.TryAcquire(context.Background()); done <- err }()
		select {
		case err := <-done:
			must.True(t, err != nil, kind.name, "acquired a lock from a paused server")
		case <-time.After(60 * time.Second):
			t.Fatalf("%s: TryAcquire does not end", kind.name)
		}
		m.Resume(t)
		noKey(t, kind.name, []*servertest.Redis{m}, "lock")
	}
}

// On a server that hangs, Acquire ends with its context, long before the request's time limit, and
// cleans up in the background.
func TestAcquireReturnsWithItsContext(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s := redisSession(t, m)
	for _, kind := range oneRedisKinds {
		l := kind.make(s, "lock", lockops.WithMasterLimit(5*time.Minute), lockops.WithTTL(10*time.Minute))
		release(t, acquire(t, l))
		m.Pause(t)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		ended := make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx)
			ended <- err
		}()
		select {
		case err := <-ended:
			must.Be(t, err, context.DeadlineExceeded, kind.name)
		case <-time.After(60 * time.Second):
			t.Errorf("%s: Acquire goes on after its context ended", kind.name)
		}
		cancel()
		m.Resume(t)
		noKey(t, kind.name, []*servertest.Redis{m}, "lock")
	}
}

// Acquire also ends with its context if the connections are gone and new ones hang.
func TestAcquireReturnsWhileConnecting(t *testing.T) {
	t.Parallel()
	for _, kind := range oneRedisKinds {
		wire := servertest.StartWire(t, servertest.StartEmbeddedRedis(t).Addr)
		o := &redis.UniversalOptions{Addrs: []string{wire.Addr()}, DialTimeout: time.Hour, ReadTimeout: time.Hour}
		s, err := lockops.NewRedisSession(within(t), []*redis.UniversalOptions{o}, lockops.WithRequestLimit(time.Hour))
		must.Succeed(t, err)
		t.Cleanup(s.Close)
		l := kind.make(s, "lock")
		release(t, acquire(t, l))
		wire.Stop()
		wire.Reset()
		ended := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		go func() {
			_, err := l.Acquire(ctx)
			ended <- err
		}()
		select {
		case err := <-ended:
			must.Be(t, err, context.DeadlineExceeded, kind.name)
		case <-time.After(30 * time.Second):
			t.Errorf("%s: Acquire goes on after its context ended", kind.name)
		}
		wire.Heal()
	}
}

// An Acquire that Close cuts short at any moment leaves no key.
func TestCloseDuringAcquireLeavesNoKey(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	cut := 0
	for i := range 40 {
		for _, kind := range []string{"mutex", "fair", "redlock"} {
			key := fmt.Sprintf("lock:%s:%d", kind, i)
			var s *lockops.RedisSession
			var l lockops.Locker
			switch kind {
			case "mutex":
				s = redisSession(t, masters[0])
				l = lockops.NewRedisMutex(s, key)
			case "fair":
				s = redisSession(t, masters[0])
				l = lockops.NewRedisFairMutex(s, key)
			case "redlock":
				s = redisSession(t, masters...)
				l = lockops.NewRedlock(s, key)
			}
			var acquiring sync.WaitGroup
			acquiring.Go(func() {
				if _, err := l.Acquire(within(t)); err == nil {
					key = "" // granted before Close, so its keys live for their TTL
				} else if !errors.Is(err, lockops.ErrClosed) {
					t.Errorf("acquire: %v, want ErrClosed", err)
				}
			})
			time.Sleep(time.Duration(i) * 15 * time.Microsecond) // no event marks the middle of a request
			s.Close()
			acquiring.Wait()
			if key == "" {
				continue
			}
			cut++
			noKey(t, kind, masters, key)
		}
	}
	must.True(t, cut >= 13, "only", cut, "of 120 were cut short")
}

// A mutex on the first of several masters would not protect anything.
func TestMutexOfSeveralMastersIsRefused(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		s := redisSession(t, masters...)
		for _, kind := range oneRedisKinds {
			_, err := kind.make(s, servertest.UniqueName(t)).Acquire(within(t))
			if !errors.Is(err, lockops.ErrMasters) || !strings.Contains(err.Error(), "3 masters") {
				t.Errorf("%s: %v, want an error that names the masters", kind.name, err)
			}
		}
	})
}

// Every kind refuses an empty key, since all callers that forget theirs would share one lock.
func TestAnEmptyKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range redisKinds {
		masters := servertest.StartEmbeddedMasters(t, kind.masters)
		_, err := kind.make(redisSession(t, masters...), "").TryAcquire(within(t))
		if err == nil || !strings.Contains(err.Error(), "needs a key") {
			t.Errorf("%s: %v, want an error about the missing key", kind.name, err)
		}
	}
}

// The keys of a lock share a slot, whatever braces its name has.
func TestClusterKeysShareASlot(t *testing.T) {
	t.Parallel()
	cluster := servertest.StartRedisCluster(t, 3)
	var addrs []string
	for _, m := range cluster {
		addrs = append(addrs, m.Addr)
	}
	s := must.Have(lockops.NewRedisSession(within(t), []*redis.UniversalOptions{{Addrs: addrs, IsClusterMode: true}}))(t)
	defer s.Close()
	for _, key := range []string{"a", "a}b", "a{}b", "{a}b", "a{b", "}", "{}", "{}}", "x{y}{z}", "a}{b}"} {
		for _, kind := range oneRedisKinds {
			l := kind.make(s, key)
			h := acquire(t, l)
			waits, got := make(chan string, 1), make(chan *lockops.Hold, 1)
			go func() {
				h, err := kind.make(s, key+"", lockops.OnWaiting(func(name string) { waits <- name })).Acquire(within(t))
				must.Be(t, err, nil)
				got <- h
			}()
			if kind.name == "fair" { // a second mutex waits in the session
				<-waits
			}
			must.Be(t, h.Extend(within(t)), nil, kind.name, key)
			release(t, h)
			if next := <-got; next != nil {
				release(t, next)
			}
		}
	}
}

// The newest token is kept for a day. Tokens keep growing even if it is deleted earlier.
func TestFencingTokensSurviveKeyExpiry(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		c := redisClient(t, masters[0])
		s := redisSession(t, masters[0])
		for _, kind := range oneRedisKinds {
			key := servertest.UniqueName(t)
			l := kind.make(s, key)
			var last uint64
			next := func() uint64 {
				h := acquire(t, l)
				defer release(t, h)
				token, ok := h.Token()
				if !ok || token <= last {
					t.Errorf("%s: token %d (%v) after %d", kind.name, token, ok, last)
				}
				ttl := c.PTTL(within(t), recipe.FenceKey(key)).Val()
				if ttl < 23*time.Hour || ttl > 24*time.Hour {
					t.Errorf("%s: the newest token is kept for %v, want a day", kind.name, ttl)
				}
				last = token
				return token
			}
			for range 3 {
				next()
				c.Del(within(t), recipe.FenceKey(key))
			}
			last = next() + uint64(time.Hour.Microseconds()) // as if the server's clock had been ahead
			c.Set(within(t), recipe.FenceKey(key), last, 0)
			for range 3 {
				want := last + 1
				must.Equal(t, next(), want, kind.name, "token after the clock was set back")
			}
		}
	})
}

// A forced release publishes on the lock's channel, so the holder learns of it long before its next
// renewal.
func TestAForcedReleaseIsAnnounced(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	for _, kind := range oneRedisKinds {
		key := "lock:" + kind.name
		h := acquire(t, kind.make(redisSession(t, m), key, lockops.WithTTL(time.Hour)))
		channel := recipe.LockscopeChannel(key)
		must.Become(t, "holder subscribed", func() bool { return c.PubSubNumSub(within(t), channel).Val()[channel] == 1 })
		c.Del(within(t), key)
		c.Publish(within(t), channel, "")
		select {
		case <-h.Context().Done():
		case <-time.After(60 * time.Second):
			t.Fatalf("%s: the loss was not reported", kind.name)
		}
		if cause := context.Cause(h.Context()); !errors.Is(cause, lockops.ErrLost) || !errors.Is(cause, lockops.ErrGone) {
			t.Errorf("%s: cause %v, want ErrLost and ErrGone", kind.name, cause)
		}
	}
}

// The context ends while hanging masters are asked again. The error still says that the lock was
// held.
func TestElectionTimeoutReportsHeld(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	h := acquire(t, lockops.NewRedlock(redisSession(t, masters...), "lock", patient))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	hang := lockops.OnWaiting(func(string) {
		for _, m := range masters {
			m.Pause(t)
		}
	})
	_, err := lockops.NewRedlock(redisSession(t, masters...), "lock", hang, lockops.WithMasterLimit(20*time.Second), lockops.WithTTL(5*time.Minute)).Acquire(ctx)
	if !errors.Is(err, lockops.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want DeadlineExceeded and ErrHeld", err)
	}
	for _, m := range masters {
		m.Resume(t)
	}
	release(t, h)
}

// logged collects the lines that go-redis would print.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Printf(_ context.Context, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// A refused connection is returned as an error, and go-redis prints nothing.
func TestNothingIsPrinted(t *testing.T) {
	var log logged
	redis.SetLogger(&log)
	defer redis.SetLogger(discard{})
	m := servertest.StartRedis(t)
	s := redisSession(t, m)
	l := lockops.NewRedisMutex(s, "lock")
	release(t, acquire(t, l))
	m.Kill(t)
	_, err := l.TryAcquire(within(t))
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("TryAcquire: %v, want connection refused", err)
	}
	s.Close()
	log.mu.Lock()
	defer log.mu.Unlock()
	must.Equal(t, len(log.lines), 0, "lines printed", log.lines)
}

type discard struct{}

func (discard) Printf(context.Context, string, ...any) {}

// Locks use the program's own clients, which stay open. Clients that ignore context timeouts, retry
// or shard are refused.
func TestAdoptedClientsStayOpen(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		var clients []redis.UniversalClient
		for _, m := range masters {
			c := redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: time.Minute})
			t.Cleanup(func() { c.Close() })
			clients = append(clients, c)
		}
		one := must.Have(lockops.AdoptRedis(within(t), clients[:1]))(t)
		all := must.Have(lockops.AdoptRedis(within(t), clients))(t)
		key := servertest.UniqueName(t)
		contend(t, 4, 3, func(i int) lockops.Locker { return oneRedisKinds[i%2].make(one, key) }, func(*lockops.Hold) {})
		h := acquire(t, lockops.NewRedlock(all, key+"-all", patient))
		must.Be(t, h.Extend(within(t)), nil)
		release(t, h)
		one.Close()
		all.Close()
		for _, c := range clients {
			must.Be(t, c.Ping(within(t)).Err(), nil, "ping after Close")
		}
		for _, o := range []*redis.Options{
			{Addr: masters[0].Addr, MaxRetries: -1},
			{Addr: masters[0].Addr, ContextTimeoutEnabled: true},
		} {
			c := redis.NewClient(o)
			if _, err := lockops.AdoptRedis(within(t), []redis.UniversalClient{c}); err == nil || !strings.Contains(err.Error(), "in its options") {
				t.Errorf("%+v was adopted: %v", o, err)
			}
			c.Close()
		}
		ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": masters[0].Addr}})
		defer ring.Close()
		if _, err := lockops.AdoptRedis(within(t), []redis.UniversalClient{ring}); err == nil {
			t.Error("a ring was adopted")
		}
	})
}
