package lockops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// RedisFairMutex is an exclusive lock in one Redis that is granted first come, first served.
// Waiters are in a queue next to the key. The script of a release hands the key to the first live
// waiter, and notifies only that one.
//
// A heartbeat is a second, or a third of the TTL if that is less. A waiter that is silent for two
// heartbeats loses its place in the queue. A waiter that dies delays the others by at most one
// heartbeat. A lock that is handed over has a TTL of one heartbeat until the new holder renews it.
// Hold.Deadline is therefore near at first, and moves later within a third of a heartbeat.
//
// The key is a plain one with a random value: it and all clients that use SET NX PX, including RedisMutex, exclude each
// other. A lock that such a client frees goes to the first waiter at its next heartbeat.
type RedisFairMutex struct{ redisKey }

// beatMost is the longest time between two heartbeats of a waiter.
const beatMost = time.Second

// NewRedisFairMutex makes a fair mutex of a key on the session's Redis. Options are those of
// NewRedisMutex. The TTL is at least 100 ms, since a waiter has to send three heartbeats in that
// time. On a session with several masters every Acquire fails.
func NewRedisFairMutex(s *RedisSession, key string, opts ...Option) *RedisFairMutex {
	m := &RedisFairMutex{newRedisKey(s, "redis-fair", key, redisMutexKeeps, opts)}
	m.keys = []string{key, recipe.LockscopeKey(recipe.QueuePrefix, key), recipe.LockscopeKey(recipe.AlivePrefix, key)}
	if m.opts.fence {
		m.keys = append(m.keys, recipe.FenceKey(key))
	}
	if m.opts.ttl < fairMinTTL {
		m.opts.refuse("TTL %v is under %v, the minimum for a fair mutex", m.opts.ttl, fairMinTTL)
	}
	m.beat = min(beatMost, m.opts.ttl/3)
	m.acquire, m.releaseKeys = fairAcquireScript, m.keys
	m.release, m.releaseArgs = fairReleaseScript, []any{m.master.counts(), m.beat.Microseconds()}
	return m
}

const fairMinTTL = 100 * time.Millisecond

// Acquire waits in the queue for its turn; its errors are those of RedisMutex.Acquire. When ctx ends, it leaves the
// queue, and passes on a lock that was handed to it meanwhile. Each call is a separate waiter, even within a session.
func (m *RedisFairMutex) Acquire(ctx context.Context) (*Hold, error) {
	h, end, err := m.session.begin(ctx, m.lock, &m.opts)
	if end == nil {
		return h, err
	}
	defer end()
	// A waiter that hears no message loses its place, so the session's first Acquire waits for the subscription.
	if _, err := m.master.subscriber.ready(ctx, m.session.opts.limit); err != nil {
		return nil, acquireError(m.lock, m.master.failed(err))
	}
	a := m.attempt(0)
	w := m.session.waiters.add(m.lock.name, a.value)
	defer m.session.waiters.remove(a.value)
	pttl, err := a.try(ctx)
	until := expiry(a.sent, m.opts.ttl)
	if errors.Is(err, ErrHeld) {
		until, err = m.wait(ctx, a, w, pttl)
	}
	if err != nil {
		a.abandon()
		return nil, acquireError(m.lock, err)
	}
	return a.granted(ctx, until)
}

// wait sends heartbeats until it has the lock; until is when the lock expires.
func (m *RedisFairMutex) wait(
	ctx context.Context, a *redisAttempt, w *waiter, pttl time.Duration,
) (until time.Time, err error) {
	m.session.contended.mark(m.lock, m.session.clock.now())
	defer m.master.subscriber.listen(m.lock.name)()
	m.opts.waiting(a.value)
	for {
		if err := m.session.pause(ctx, m.nextBeat(pttl), w.news); err != nil {
			return time.Time{}, fmt.Errorf("%w (%w)", err, ErrHeld)
		}
		if until, ok := m.handed(a, w.take()); ok {
			return until, nil
		}
		if pttl, err = a.try(ctx); !errors.Is(err, ErrHeld) {
			return expiry(a.sent, m.opts.ttl), err
		}
	}
}

// nextBeat returns the time to the next heartbeat: short enough that two of three may be lost, and
// no later than the holder's TTL ends.
func (m *RedisFairMutex) nextBeat(pttl time.Duration) time.Duration {
	wait := m.beat*2/5 + rand.N(m.beat/4)
	if pttl >= 0 {
		wait = min(wait, pttl+time.Millisecond)
	}
	return wait
}

// handed reads the message of a handoff, and returns how long the lock is valid without asking the
// server. The server's clock gives the time from our newest request to the start of the TTL, and
// our clock says when we sent that request. If most of the TTL has passed since, by delay or
// suspension, ok is false and the server has to be asked.
func (m *RedisFairMutex) handed(a *redisAttempt, t *turn) (until time.Time, ok bool) {
	if t == nil || t.at < a.at || !m.opts.renew { // a message to look again has no time
		return time.Time{}, false
	}
	since := time.Duration(t.at-a.at) * time.Microsecond
	now := m.session.clock.now() // before correct, so that no suspension is missed
	until = m.session.sleepClock.correct(a.sent, a.sent.Add(since-since/100+t.grant-drift(t.grant)))
	if latest := expiry(now, t.grant); until.After(latest) { // the server's clock was set
		until = latest
	}
	if left := until.Sub(now); left < t.grant/3 || left < 2*m.master.took() { // too little time to renew it
		return time.Time{}, false
	}
	a.sent = now // suspensions until now are already subtracted
	a.token, a.maybe = t.token, true
	return until, true
}

// TryAcquire asks once, or again while answers are lost, for at most two request limits and one for connecting. It
// never queues: waiters have priority.
func (m *RedisFairMutex) TryAcquire(ctx context.Context) (*Hold, error) { return m.tryAcquire(ctx) }

// waiters are a session's contenders that messages can reach, by their value in a queue.
type waiters struct {
	mu     sync.Mutex
	byName map[string]*waiter
}

type waiter struct {
	lock string
	news chan struct{} // signals that the waiter should look again

	mu   sync.Mutex
	turn *turn
}

// turn is the message to the next waiter.
type turn struct {
	token uint64
	at    int64         // the server's clock when it gave the lock, in µs since 1970; 0 if it only said to look
	grant time.Duration // the TTL of the grant
}

// add registers a waiter. Callers remove it once it no longer waits.
func (ws *waiters) add(lock, value string) *waiter {
	w := &waiter{lock: lock, news: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byName == nil {
		ws.byName = make(map[string]*waiter)
	}
	ws.byName[value] = w
	return w
}

func (ws *waiters) remove(value string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.byName, value)
}

// notify passes on "token seconds microseconds grant value", as wake.lua and fair.lua publish it; grant is in µs.
func (ws *waiters) notify(message string) {
	var n [4]int64
	for i := range n {
		field, rest, ok := strings.Cut(message, " ")
		v, err := strconv.ParseInt(field, 10, 64)
		if !ok || err != nil {
			return // not ours: any client may publish
		}
		n[i], message = v, rest
	}
	ws.mu.Lock()
	w := ws.byName[message]
	ws.mu.Unlock()
	if w == nil {
		return
	}
	w.mu.Lock()
	w.turn = &turn{token: uint64(n[0]), at: n[1]*1e6 + n[2], grant: time.Duration(n[3]) * time.Microsecond}
	w.mu.Unlock()
	w.poke()
}

// look makes all waiters for a lock, or for any lock, look again.
func (ws *waiters) look(lock string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.byName {
		if lock == "" || w.lock == lock {
			w.poke()
		}
	}
}

func (w *waiter) poke() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// take returns the newest message since the last call, or nil.
func (w *waiter) take() *turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.turn
	w.turn = nil
	return t
}
