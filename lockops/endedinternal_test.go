package lockops

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A waiter whose turn has come is not granted the lock if its context has ended or its session is
// closing. It leaves no key.
func TestEndedWaitIsNeverGranted(t *testing.T) {
	t.Parallel()
	for kind, turn := range map[string]func(*testing.T) readyTurn{
		"zookeeper": zkTurn, "redis": redisTurn("mutex"), "redis-fair": redisTurn("fair"), "redlock": redlockTurn,
	} {
		t.Run(kind, func(t *testing.T) {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			turn(t).isNotGranted(t, ended, context.Canceled)
			closing := turn(t)
			closing.close()
			closing.isNotGranted(t, t.Context(), ErrClosed)
		})
	}
}

// readyTurn is a contender that has all answers it needs for a grant.
type readyTurn struct {
	grant func(ctx context.Context) (*Hold, error)
	close func() // starts closing its session
	// keys counts the masters that have the key after the clean-up. It is nil on ZooKeeper, where
	// the caller of grant removes the node.
	keys func(*testing.T) int64
}

func zkTurn(t *testing.T) readyTurn {
	c := contenderOn(t, leasedSession(t))
	return readyTurn{grant: c.granted, close: func() { c.q.session.end(ErrClosed) }}
}

func redisTurn(kind string) func(*testing.T) readyTurn {
	return func(t *testing.T) readyTurn {
		s := embeddedMasters(t, 1)
		k := &NewRedisMutex(s, "key").redisKey
		if kind == "fair" {
			k = &NewRedisFairMutex(s, "key").redisKey
		}
		a := k.attempt(0)
		must.Have(a.try(t.Context()))(t)
		return readyTurn{
			func(ctx context.Context) (*Hold, error) { return a.granted(ctx, expiry(a.sent, k.opts.ttl)) }, func() { beginClose(s) }, keysOn(s),
		}
	}
}

func redlockTurn(t *testing.T) readyTurn {
	s := embeddedMasters(t, 3)
	e := NewRedlock(s, "key", WithMasterLimit(time.Minute)).newElection()
	e.requestAll()
	must.Succeed(t, e.await(t.Context(), func() bool { return false }))
	return readyTurn{e.decide, func() { beginClose(s) }, keysOn(s)}
}

func keysOn(s *RedisSession) func(*testing.T) int64 {
	return func(t *testing.T) (n int64) {
		beginClose(s)
		s.work.Wait()
		for _, m := range s.masters {
			n += must.Have(m.client.Exists(context.Background(), "key").Result())(t)
		}
		return n
	}
}

func beginClose(s *RedisSession) {
	s.end(ErrClosed)
	s.leases.loseAll()
}

// An ended context or a closing session sends no requests.
func TestEndedWaitSendsNoRequests(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := embeddedMasters(t, 1)
	a, before := NewRedisMutex(s, "key").attempt(0), s.masters[0].requests.Load()
	_, err := a.try(ended)
	s.Close() // waits for background requests
	sent := s.masters[0].requests.Load() - before
	must.True(t, errors.Is(err, context.Canceled) && sent == 0, "redis", err, sent, "requests")
	z := leasedSession(t)
	id, err := z.alive(ended)
	must.True(t, id == 0 && errors.Is(err, context.Canceled), "zookeeper, context ended: session", id, err)
	z.end(ErrClosed) // as on an adopted connection, which stays open
	id, err = z.alive(t.Context())
	must.True(t, id == 0 && errors.Is(err, ErrClosed), "zookeeper, session closing: session", id, err)
}

// A waiter in the session's own queue leaves it, or passes on a turn that has just come.
func TestEndedWaitLeavesTheLocalQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, turn := range []bool{false, true} {
			var q localQueue
			leave := must.Have(q.enter(t.Context(), lockKey{}))(t)
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { _, err := q.enter(ctx, lockKey{}); ended <- err }()
			synctest.Wait()
			place := q.locks[lockKey{}]
			q.mu.Lock()
			if end(); turn {
				place.waiting = nil // as leave does
			}
			q.mu.Unlock()
			must.Be(t, <-ended, context.Canceled)
			must.Equal(t, len(place.waiting), 0, "waiters left, with a turn:", turn)
			if !turn {
				leave()
			}
			must.Equal(t, len(q.locks), 0, "queues left, with a turn:", turn)
		}
	})
}

// The ended wait is for a second read inside the same write.
func TestEndedWaitGetsNoNestedRead(t *testing.T) {
	t.Parallel()
	q := newZKQueue(leasedSession(t), "/lock", nil, true)
	h := must.Have(q.acquire(t.Context(), recipe.Exclusive))(t)
	write := h.grant.backend.(*zkGrant)
	must.Have(q.readInside(t.Context(), write))(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // select picks a ready case at random
		h, err := q.readInside(ended, write)
		must.True(t, h == nil && errors.Is(err, context.Canceled), h, err)
	}
}

// embeddedMasters is a session on n new masters, each of which has answered.
func embeddedMasters(t *testing.T, n int) *RedisSession {
	t.Helper()
	var addrs []string
	for range n {
		addrs = append(addrs, servertest.StartEmbeddedRedis(t).Addr)
	}
	s := sessionOn(t, addrs, WithUncheckedMasters())
	s.work.Wait()
	return s
}

// sessionOn returns a session with servers at these addresses.
func sessionOn(t *testing.T, addrs []string, options ...RedisOption) *RedisSession {
	t.Helper()
	var masters []*redis.UniversalOptions
	for _, addr := range addrs {
		masters = append(masters, &redis.UniversalOptions{Addrs: []string{addr}})
	}
	s := must.Have(NewRedisSession(t.Context(), masters, options...))(t)
	t.Cleanup(s.Close)
	return s
}

// onRedis starts a server and a session with it.
func onRedis(t *testing.T) (*servertest.Redis, *RedisSession) {
	t.Helper()
	m := AnyRedis(t)
	return m, sessionOn(t, []string{m.Addr})
}

// serverless returns a session without servers, whose clock reads now.
func serverless(t *testing.T, now *time.Time) *RedisSession {
	t.Helper()
	s := newRedisSession([]RedisOption{func(o *redisOptions) { o.clock.now = func() time.Time { return *now } }})
	t.Cleanup(s.Close)
	return s
}

// otherClient returns a client of a session's first master, as another program would use.
func otherClient(t *testing.T, s *RedisSession) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.masters[0].name})
	t.Cleanup(func() { c.Close() })
	return c
}

func (r readyTurn) isNotGranted(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	h, err := r.grant(ctx)
	must.Be(t, err, want)
	must.Equal(t, h, nil, want, "granted")
	must.True(t, r.keys == nil || r.keys(t) == 0, want, "the key was left behind")
}
