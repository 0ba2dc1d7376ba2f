package lockops

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lockscope/inspect/recipe"
)

// RedisMutex is an exclusive lock in one Redis: a key with a random value and a TTL (redis.io, "Distributed locks", single
// instance). Any client that takes the same key by SET NX PX is kept out, and keeps out.
type RedisMutex struct {
	session *RedisSession
	master  *master
	opts    options
	lock    lockKey
}

// NewRedisMutex makes a mutex of a key on the session's first master. Options: WithLabel, WithTTL,
// WithoutRenewal, WithoutToken, WithMasterLimit, WithReentry, OnWaiting, OnRenew, OnAsked.
func NewRedisMutex(s *RedisSession, key string, opts ...Option) *RedisMutex {
	m := &RedisMutex{session: s, master: s.masters[0], opts: newOptions(redisMutexKeeps, opts), lock: lockKey{s, "redis", key}}
	if m.opts.limit <= 0 {
		m.opts.limit = min(time.Second, m.opts.ttl/3)
	}
	return m
}

// Acquire waits until it gets the key. A waiter is woken by the release of another session's or its own, and it polls, so
// as to notice expiry and clients that tell nobody. Failures of the connection are retried until ctx ends; error replies
// of the server (no permission, key of another type) are returned.
func (m *RedisMutex) Acquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.lock, &m.opts); h != nil || err != nil {
		return h, err
	}
	done, err := m.session.turns.take(ctx, m.lock)
	if err != nil {
		return nil, acquireError(m.lock, err)
	}
	defer done()
	a := m.attempt()
	wait, err := a.try(ctx)
	if errors.Is(err, ErrHeld) {
		m.opts.waiting(a.value)
		woken, stop := m.session.listen(recipe.LockscopeChannel(m.lock.name))
		defer stop()
		for polls := 0; errors.Is(err, ErrHeld); polls++ {
			if err = m.session.pause(ctx, pollAfter(wait, polls), woken); err == nil {
				wait, err = a.try(ctx)
			}
		}
	}
	if err != nil {
		a.abandon()
		return nil, acquireError(m.lock, err)
	}
	return a.granted(ctx)
}

// TryAcquire asks once.
func (m *RedisMutex) TryAcquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, m.lock, &m.opts); h != nil || err != nil {
		return h, err
	}
	a := m.attempt()
	if _, err := a.try(ctx); err != nil {
		a.abandon()
		return nil, acquireError(m.lock, err)
	}
	return a.granted(ctx)
}

// Polling is the net under lost wake-ups, and all there is for the releases of clients that publish nothing.
const (
	pollFirst = 50 * time.Millisecond
	pollMost  = 500 * time.Millisecond
)

// pollAfter is how long to wait before looking again, without a message: growing, jittered by half, and not past the
// end of the holder's TTL.
func pollAfter(pttl time.Duration, polls int) time.Duration {
	wait := min(pollFirst<<min(polls, 10), pollMost)
	wait = wait/2 + rand.N(wait)
	if pttl >= 0 {
		wait = min(wait, pttl+time.Millisecond)
	}
	return wait
}

// pause waits for a message or for the time to poll.
func (s *RedisSession) pause(ctx context.Context, wait time.Duration, woken <-chan struct{}) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-woken:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return because(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
}

// newValue makes the value of one acquisition.
func newValue(label string) string {
	var random [16]byte
	_, _ = crand.Read(random[:]) // never fails
	return recipe.LockscopeToken(random, label)
}

// redisAttempt is one acquisition, with one value, however often it is tried.
type redisAttempt struct {
	m     *RedisMutex
	value string
	token uint64
	sent  time.Time // of the request that took the lock
	fate  time.Time // until when an unanswered request may still be executed
	due   chan answer
	maybe bool // the key may have our value
	asked bool // the master has answered
}

type answer struct {
	verdict
	sent time.Time
}

func (m *RedisMutex) attempt() *redisAttempt {
	return &redisAttempt{m: m, value: newValue(m.opts.label)}
}

// try asks for the lock until there is an answer: nil taken, ErrHeld and the holder's TTL. Lost replies are asked for
// again with the same value, which the script knows again.
func (a *redisAttempt) try(ctx context.Context) (pttl time.Duration, err error) {
	for polls := 0; ; polls++ {
		answer, err := a.ask(ctx)
		if err != nil {
			return 0, err
		}
		if answer.at != 0 && !a.asked {
			a.asked = true
			a.m.opts.asked(answer.at)
		}
		switch {
		case answer.taken:
			a.maybe = true
			a.token, a.sent = answer.token, answer.sent
			return 0, nil
		case answer.err == nil:
			a.maybe = false
			return answer.pttl, ErrHeld
		case !answer.fate.IsZero():
			a.maybe = true
			a.fate = answer.fate
		case !errors.Is(answer.err, errLate) && answered(errors.Unwrap(answer.err)) && !errors.Is(answer.err, ErrDead):
			return 0, answer.err
		}
		if ctx.Err() == nil {
			err = a.m.session.pause(ctx, pollAfter(-1, polls), nil)
		} else {
			err = because(ctx)
		}
		if err != nil {
			return 0, fmt.Errorf("%w (%w)", err, answer.err)
		}
	}
}

// ask sends one request and waits for its answer or for the end of ctx; the answer is then due.
func (a *redisAttempt) ask(ctx context.Context) (answer, error) {
	o := &a.m.opts
	due := make(chan answer, 1)
	if !a.m.session.goDo(func() {
		sent := time.Now()
		due <- answer{a.m.master.setOnce(a.m.lock.name, a.value, o.ttl, o.limit, o.fence), sent}
	}) {
		return answer{}, ErrClosed
	}
	select {
	case got := <-due:
		return got, nil
	case <-ctx.Done():
		a.due = due
		return answer{}, because(ctx)
	}
}

// abandon removes the key in case it is or may be ours, on a time limit of its own: it waits for the answer that is due,
// and if there is none until the request can no longer be executed, so that the removal cannot be overtaken. Acquire
// waits for the first part; the second goes on in the background.
func (a *redisAttempt) abandon() {
	if a.due == nil && !a.maybe && a.fate.IsZero() {
		return
	}
	s := a.m.session
	first := make(chan struct{})
	if !s.goDo(func() { a.cleanUp(first) }) {
		return
	}
	<-first
}

func (a *redisAttempt) cleanUp(first chan struct{}) {
	if a.due != nil {
		got := <-a.due
		a.maybe = a.maybe || got.taken || !got.fate.IsZero()
		if got.fate.After(a.fate) {
			a.fate = got.fate
		}
	}
	m := a.m
	var err error
	if a.maybe {
		err = m.master.releaseOnce(context.Background(), m.lock.name, a.value, recipe.LockscopeChannel(m.lock.name), m.opts.limit)
	}
	close(first)
	if a.maybe && (!a.fate.IsZero() || !settled(err)) {
		m.session.removeLater(m.master, m.lock.name, a.value, recipe.LockscopeChannel(m.lock.name), m.opts.limit, a.fate)
	}
}

// settled says that a release left nothing of ours on the master.
func settled(err error) bool {
	return err == nil || errors.Is(err, ErrGone) || errors.Is(err, ErrOther)
}

// removeAttempts is how often a removal that nobody waits for is tried. The TTL does the rest.
const removeAttempts = 5

// removeLater removes a key once no request of ours can take it any more.
func (s *RedisSession) removeLater(m *master, key, value, channel string, limit time.Duration, fate time.Time) {
	time.Sleep(time.Until(fate)) // also while the session is being closed: it is less than two request limits
	for i := range removeAttempts {
		if settled(m.releaseOnce(context.Background(), key, value, channel, limit)) || s.sleep(limit<<i) != nil {
			return
		}
	}
}

// sleep waits, or less when the session is closed; it returns an error then.
func (s *RedisSession) sleep(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return s.pause(context.Background(), wait, nil)
}

// granted makes the hold, if there is time left of the TTL.
func (a *redisAttempt) granted(ctx context.Context) (*Hold, error) {
	m := a.m
	r := &redisGrant{m: m, value: a.value, number: a.token, fate: a.fate}
	l := newLease(m.session, newGrant(ctx, m.lock), &m.opts, r.prolong, a.sent)
	r.lease = l
	l.grant.backend = r
	if !l.run() {
		a.abandon()
		if m.session.ctx.Err() != nil {
			return nil, acquireError(m.lock, ErrClosed)
		}
		return nil, acquireError(m.lock, fmt.Errorf("%w: the answer took longer than the TTL", context.DeadlineExceeded))
	}
	return l.grant.hold(ctx), nil
}

// redisGrant is an acquired key.
type redisGrant struct {
	*lease
	m      *RedisMutex
	value  string
	number uint64
	fate   time.Time
}

func (r *redisGrant) name() string { return r.value }

func (r *redisGrant) token() (uint64, bool) { return r.number, r.number != 0 }

// prolong sets the TTL anew.
func (r *redisGrant) prolong(ctx context.Context) error {
	o := &r.m.opts
	return r.m.master.extendOnce(ctx, r.m.lock.name, r.value, o.ttl, o.limit)
}

// release deletes the key, trying again while the answer is missing, and goes on in the background when ctx ends.
func (r *redisGrant) release(ctx context.Context) error {
	result := make(chan error, 1)
	if !r.m.session.goDo(func() { result <- r.remove() }) {
		return ErrClosed
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return because(ctx)
	}
}

func (r *redisGrant) abandon() { r.m.session.goDo(func() { _ = r.remove() }) }

func (r *redisGrant) remove() error {
	m := r.m
	channel := recipe.LockscopeChannel(m.lock.name)
	expires, _ := r.deadline()
	var unanswered error
	for i := 0; ; i++ {
		err := m.master.releaseOnce(context.Background(), m.lock.name, r.value, channel, m.opts.limit)
		switch {
		case err == nil, settled(err) && unanswered != nil: // by the request before, whose answer was lost
			if time.Now().Before(r.fate) {
				m.session.goDo(func() { m.session.removeLater(m.master, m.lock.name, r.value, channel, m.opts.limit, r.fate) })
			}
			return nil
		case settled(err):
			return fmt.Errorf("%w: %w", ErrLost, err)
		case answered(errors.Unwrap(err)), !time.Now().Before(expires):
			return err
		}
		unanswered = err
		if m.session.sleep(pollAfter(-1, i)) != nil {
			return fmt.Errorf("%w (%w)", ErrClosed, err)
		}
	}
}
