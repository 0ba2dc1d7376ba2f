package lockops_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// While a server runs a long script or is a replica, calls wait instead of failing.
func TestTransientRepliesAreWaitedFor(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t, "--busy-reply-threshold", "20")
	c := redisClient(t, m)
	states := []struct {
		name       string
		begin, end func()
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
			t.Run(kind.Name+"/"+state.name, func(t *testing.T) {
				l := lockOf(t, kind, s, servertest.UniqueName(t))
				var h *lockops.Hold
				for i, step := range []func() error{
					func() (err error) { h, err = l.Acquire(within(t)); return err },
					func() error { return h.Extend(within(t)) },
					func() error { return h.Release(within(t)) },
				} {
					state.begin()
					done := make(chan error, 1)
					go func() { done <- step() }()
					time.Sleep(150 * time.Millisecond)
					must.Equal(t, len(done), 0, "ended without waiting: call", i)
					state.end()
					must.Succeed(t, <-done)
				}
			})
		}
	}
}

// On a server that hangs, Acquire ends with its context, long before the request's time limit, and
// cleans up in the background. TryAcquire ends even if its context has no deadline.
func TestAcquireReturnsWithItsContext(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s := redisSession(t, m)
	for _, kind := range oneRedisKinds {
		brief := lockOf(t, kind, s, "brief", lockops.WithMasterLimit(50*time.Millisecond))
		long := lockOf(t, kind, s, "long", lockops.WithMasterLimit(5*time.Minute), lockops.WithTTL(10*time.Minute))
		release(t, acquire(t, brief), acquire(t, long))
		m.Pause(t)
		err := returned(t, "TryAcquire", func() error { _, err := brief.TryAcquire(context.Background()); return err })
		must.True(t, err != nil, kind.Name, "acquired a lock from a paused server")
		acquireTimesOut(t, long)
		m.Resume(t)
		noKey(t, kind.Name, []*servertest.Redis{m}, "brief")
		noKey(t, kind.Name, []*servertest.Redis{m}, "long")
	}
}

// Acquire also ends with its context if the connections are gone and new ones hang.
func TestAcquireReturnsWhileConnecting(t *testing.T) {
	t.Parallel()
	for _, kind := range oneRedisKinds {
		wire := servertest.StartWire(t, servertest.StartEmbeddedRedis(t).Addr)
		o := &redis.UniversalOptions{Addrs: []string{wire.Addr()}, DialTimeout: time.Hour, ReadTimeout: time.Hour}
		s := redisSessionWith(t, masterOptions{o}, lockops.WithRequestLimit(time.Hour))
		l := lockOf(t, kind, s, "lock")
		release(t, acquire(t, l))
		wire.Stop()
		wire.Reset()
		acquireTimesOut(t, l)
		wire.Heal()
	}
}

// An Acquire that Close cuts short at any moment leaves no key.
func TestCloseDuringAcquireLeavesNoKey(t *testing.T) {
	t.Parallel()
	masters := anyMasters(t)
	cut := 0
	for i := range 40 {
		for _, kind := range redisKinds {
			key := fmt.Sprintf("lock:%s:%d", kind.Name, i)
			s := redisSession(t, mastersOf(kind, masters)...)
			got := begin(within(t), must.Have(kind.New(s, key))(t))
			time.Sleep(time.Duration(i) * 15 * time.Microsecond) // no event marks the middle of a request
			s.Close()
			a := <-got
			if a.err == nil { // granted before Close, so its keys live for their TTL
				continue
			}
			must.Be(t, a.err, lockops.ErrClosed, "acquire")
			cut++
			noKey(t, kind.Name, masters, key)
		}
	}
	must.True(t, cut >= 13, "only", cut, "of 120 were cut short")
}

// The keys of a lock share a slot, whatever braces its name has.
func TestClusterKeysShareASlot(t *testing.T) {
	t.Parallel()
	var addrs []string
	for _, m := range servertest.StartRedisCluster(t, 3) {
		addrs = append(addrs, m.Addr)
	}
	s := redisSessionWith(t, masterOptions{{Addrs: addrs, IsClusterMode: true}})
	for _, key := range []string{"a", "a}b", "a{}b", "{a}b", "a{b", "}", "{}", "{}}", "x{y}{z}", "a}{b}"} {
		for _, kind := range oneRedisKinds {
			h := acquire(t, lockOf(t, kind, s, key))
			var next <-chan acquired
			if kind.Name == "fair" {
				_, next = mustQueue(t, within(t), kindMaker(t, kind, s, key))
			} else { // a second mutex waits in the session
				next = begin(within(t), lockOf(t, kind, s, key))
			}
			must.Be(t, h.Extend(within(t)), nil, kind.Name, key)
			release(t, h)
			release(t, granted(t, next))
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
			l := lockOf(t, kind, s, key)
			var last uint64
			next := func() uint64 {
				h := acquire(t, l)
				defer release(t, h)
				token, ok := h.Token()
				must.True(t, ok && token > last, kind.Name, "token", token, ok, "after", last)
				ttl := c.PTTL(within(t), recipe.FenceKey(key)).Val()
				must.True(t, ttl >= 23*time.Hour && ttl <= 24*time.Hour, kind.Name, "the newest token is kept for", ttl, "want a day")
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
				must.Equal(t, next(), want, kind.Name, "token after the clock was set back")
			}
		}
	})
}

// A forced release publishes on the lock's channel, so the holder learns of it long before its next
// renewal.
func TestAForcedReleaseIsAnnounced(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	c := redisClient(t, m)
	for _, kind := range oneRedisKinds {
		key := "lock:" + kind.Name
		h := acquire(t, lockOf(t, kind, redisSession(t, m), key, lockops.WithTTL(time.Hour)))
		channel := recipe.LockscopeChannel(key)
		must.Become(t, "holder subscribed", func() bool { return c.PubSubNumSub(within(t), channel).Val()[channel] == 1 })
		c.Del(within(t), key)
		c.Publish(within(t), channel, "")
		awaitLoss(t, h, lockops.ErrGone)
	}
}

// The context ends while hanging masters are asked again. The error still says that the lock was
// held.
func TestElectionTimeoutReportsHeld(t *testing.T) {
	t.Parallel()
	masters := anyMasters(t)
	link := farAway(t, 0, 0, addrsOf(masters)...)
	h := acquire(t, lockops.NewRedlock(redisSession(t, masters...), "lock", patient))
	ctx, cancel := context.WithCancel(within(t))
	hang := lockops.OnWaiting(func(string) {
		link.hang()
		time.AfterFunc(100*time.Millisecond, cancel) // while it asks again
	})
	long := lockops.WithMasterLimit(time.Minute)
	l := lockops.NewRedlock(link.session(t), "lock", hang, long, lockops.WithTTL(5*time.Minute))
	_, err := l.Acquire(ctx)
	isAll(t, err, lockops.ErrHeld, context.Canceled)
	_, err = l.Acquire(limited(t, 100*time.Millisecond)) // no answer at all
	must.True(t, contains(err, "deadline exceeded") && !contains(err, "nil"), err)
	link.heal()
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
	defer redis.SetLogger(new(logged))
	m := lockops.AnyRedis(t)
	s := redisSession(t, m)
	l := lockops.NewRedisMutex(s, "lock")
	release(t, acquire(t, l))
	m.Kill(t)
	_, err := l.TryAcquire(limited(t, 100*time.Millisecond))
	must.True(t, contains(err, "refused"), "TryAcquire", err, "want connection refused")
	s.Close()
	log.mu.Lock()
	defer log.mu.Unlock()
	must.Equal(t, len(log.lines), 0, "lines printed", log.lines)
}

// Locks use the program's own clients, which stay open. Clients that ignore context timeouts, retry
// or shard are refused.
func TestAdoptedClientsStayOpen(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis, key string) {
		clients := adoptable(t, masters)
		one := must.Have(lockops.AdoptRedis(within(t), clients[:1]))(t)
		all := must.Have(lockops.AdoptRedis(within(t), clients))(t)
		either := func(i int) lockops.Locker { return lockOf(t, oneRedisKinds[i%2], one, key) }
		neverTwoHolders(t, 4, 3, either, func(*lockops.Hold) {})
		h := acquire(t, lockops.NewRedlock(all, key+"-all", patient))
		must.Be(t, h.Extend(within(t)), nil)
		release(t, h)
		one.Close()
		all.Close()
		for _, c := range clients {
			must.Be(t, c.Ping(within(t)).Err(), nil, "ping after Close")
		}
		addr := masters[0].Addr
		for text, c := range map[string]redis.UniversalClient{
			"ContextTimeoutEnabled": redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}),
			"MaxRetries":            redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true}),
			"ring":                  redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": addr}}),
		} {
			_, err := lockops.AdoptRedis(within(t), []redis.UniversalClient{c})
			must.True(t, err != nil && (text == "ring" || contains(err, "in its options")), text, err)
			c.Close()
		}
	})
}

// acquireTimesOut checks that Acquire ends with its context.
func acquireTimesOut(t *testing.T, l lockops.Locker) {
	t.Helper()
	ctx := limited(t, 100*time.Millisecond)
	must.Be(t, returned(t, "Acquire", func() error { _, err := l.Acquire(ctx); return err }), context.DeadlineExceeded)
}

// On servers that hang, Extend ends with its context or with the hold.
func TestExtendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	masters := anyMasters(t)
	link := farAway(t, 0, 0, addrsOf(masters)...)
	for _, kind := range redisKinds {
		s := redisSessionWith(t, link.options[:len(mastersOf(kind, masters))])
		hold := func(ttl time.Duration) *lockops.Hold {
			long := lockops.WithMasterLimit(5 * time.Minute)
			return acquire(t, lockOf(t, kind, s, servertest.UniqueName(t), lockops.WithTTL(ttl), long))
		}
		h, short, given := hold(10*time.Minute), hold(2*time.Second), hold(10*time.Minute)
		link.hang()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		releaseSoon := func() {
			// ctx has ended, so the release goes on in the background.
			time.AfterFunc(100*time.Millisecond, func() { _ = given.Release(ctx) })
		}
		for _, c := range []struct {
			what string
			do   func() error
			want error
		}{
			{"with its context", func() error { return h.Extend(ctx) }, context.Canceled},
			{"with the hold", func() error { return short.Extend(t.Context()) }, lockops.ErrLost},
			{"with its release", func() error { releaseSoon(); return given.Extend(t.Context()) }, lockops.ErrReleased},
		} {
			must.Be(t, returned(t, "Extend", c.do), c.want, kind.Name, "Extend ends", c.what)
		}
		must.True(t, short.Release(limited(t, 20*time.Millisecond)) != nil, kind.Name, "release of a lost lock succeeded")
		link.heal()
		release(t, h)
	}
}

// On a server that hangs, NewRedisSession ends with its context.
func TestConnectingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	wire := servertest.StartWire(t, lockops.AnyRedis(t).Addr)
	wire.Stop()
	ctx := limited(t, 100*time.Millisecond)
	must.Be(t, returned(t, "NewRedisSession", func() error {
		o := &redis.UniversalOptions{Addrs: []string{wire.Addr()}, ReadTimeout: time.Hour}
		_, err := lockops.NewRedisSession(ctx, masterOptions{o}, lockops.WithRequestLimit(time.Hour))
		return err
	}), context.DeadlineExceeded)
}
