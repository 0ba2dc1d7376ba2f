package lockops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// RedisMutex is an exclusive lock in one Redis: a key with a random value and a TTL (redis.io, "Distributed
// locks", single instance). Clients that take the same key by SET NX PX exclude it, and are excluded.
//
// Waiters are in a sorted set next to the key. A release wakes the first waiter, which then has
// priority over this package's other clients for 20 ms. The order is nearly first come, first
// served, but a client of another library may take the key at any time.
type RedisMutex struct{ redisKey }

// NewRedisMutex makes a mutex of a key on the session's Redis. Options: WithLabel, WithTTL, WithoutRenewal,
// WithoutToken, WithMasterLimit, WithReentry, OnWaiting, OnRenew, OnAsked. On a session with several masters
// every Acquire fails.
func NewRedisMutex(s *RedisSession, key string, opts ...Option) *RedisMutex {
	m := &RedisMutex{newRedisKey(s, "redis", key, redisMutexKeeps, opts)}
	m.keys = []string{key, recipe.LockscopeKey(recipe.WaitPrefix, key)}
	if m.opts.fence {
		m.keys = append(m.keys, recipe.FenceKey(key))
	}
	m.acquire, m.releaseKeys = acquireScript, m.keys[:2]
	m.release, m.releaseArgs = releaseScript, []any{m.master.counts()}
	return m
}

// redisKey is the common part of RedisMutex and RedisFairMutex.
type redisKey struct {
	session     *RedisSession
	master      *master
	opts        options
	lock        lockKey
	keys        []string // of the script that takes it
	acquire     *script
	releaseKeys []string
	release     *script
	releaseArgs []any // after the value
	beat        time.Duration
}

func newRedisKey(s *RedisSession, kind, key string, keeps optionSet, opts []Option) redisKey {
	k := redisKey{session: s, master: s.masters[0], opts: newOptions(keeps, opts), lock: lockKey{s, kind, key}}
	if k.opts.limit <= 0 {
		k.opts.limit = k.opts.limitMost()
	}
	if key == "" {
		k.opts.refuse("a lock in Redis needs a key")
	}
	if k.opts.err == nil && len(s.masters) > 1 {
		k.opts.err = fmt.Errorf("%w: a lock on one of %d masters does not exclude other clients (use NewRedlock)", ErrMasters,
			len(s.masters))
	}
	return k
}

// Acquire waits until it gets the key. It is notified when it is next, and it polls to notice
// expiry and clients that do not notify. It retries failed connections, and servers that load, fail
// over or run a script, until ctx ends. Other error replies (no permission, key of another type)
// are returned. When ctx ends while another client has the lock, the error wraps ErrHeld too.
func (m *RedisMutex) Acquire(ctx context.Context) (*Hold, error) {
	h, end, err := m.session.begin(ctx, m.lock, &m.opts)
	if end == nil {
		return h, err
	}
	defer end()
	leave, err := m.session.localQueue.enter(ctx, m.lock)
	if err != nil {
		return nil, acquireError(m.lock, fmt.Errorf("%w (%w)", err, ErrHeld))
	}
	defer leave()
	a := m.attempt(0)
	var w *waiter // registered before a message can come
	if m.session.contended.is(m.lock, m.session.clock.now()) {
		w = m.session.waiters.add(m.lock.name, a.value)
		defer m.session.waiters.remove(a.value)
	}
	pttl, err := a.try(ctx)
	if errors.Is(err, ErrHeld) {
		err = m.wait(ctx, a, w, pttl)
	}
	if err != nil {
		a.abandon()
		return nil, acquireError(m.lock, err)
	}
	return a.granted(ctx, expiry(a.sent, m.opts.ttl))
}

// wait looks again at each message, and after pollAfter without one.
func (m *RedisMutex) wait(ctx context.Context, a *redisAttempt, w *waiter, pttl time.Duration) (err error) {
	m.session.contended.mark(m.lock, m.session.clock.now())
	if w == nil {
		w = m.session.waiters.add(m.lock.name, a.value)
		defer m.session.waiters.remove(a.value)
		w.poke() // a message may have come before
	}
	defer m.master.subscriber.listen(m.lock.name)()
	m.opts.waiting(a.value)
	for polls := 0; ; polls++ {
		if err := m.session.pause(ctx, pollAfter(pttl, polls), w.news); err != nil {
			return fmt.Errorf("%w (%w)", err, ErrHeld)
		}
		w.take()
		if pttl, err = a.try(ctx); !errors.Is(err, ErrHeld) {
			return err
		}
	}
}

// TryAcquire asks once, or again while answers are lost, for at most two request limits and one for connecting.
func (m *RedisMutex) TryAcquire(ctx context.Context) (*Hold, error) { return m.tryAcquire(ctx) }

func (k *redisKey) tryAcquire(ctx context.Context) (*Hold, error) {
	h, end, err := k.session.begin(ctx, k.lock, &k.opts)
	if end == nil {
		return h, err
	}
	defer end()
	limited, cancel := context.WithTimeout(ctx, k.session.opts.limit+2*k.opts.limit)
	defer cancel()
	a := k.attempt(notInQueue)
	if _, err := a.try(limited); err != nil {
		a.abandon()
		return nil, acquireError(k.lock, err)
	}
	return a.granted(ctx, expiry(a.sent, k.opts.ttl))
}

// Polling catches lost messages, and the releases of clients that publish nothing.
const (
	pollFirst = 50 * time.Millisecond
	pollMost  = 500 * time.Millisecond
)

// pollAfter returns the longest wait for a message: growing, jittered by half, and not past the end
// of the holder's TTL.
func pollAfter(pttl time.Duration, polls int) time.Duration {
	wait := min(pollFirst<<min(polls, 10), pollMost)
	wait = wait/2 + rand.N(wait)
	if pttl >= 0 {
		wait = min(wait, pttl+time.Millisecond)
	}
	return wait
}
