package lockops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// redisAttempt is one acquisition of a key, with one value, however often it is tried.
type redisAttempt struct {
	k         *redisKey
	value     string
	token     uint64
	since     int64     // its place in the queue (see acquire.lua)
	sent      time.Time // the request that was answered last
	at        int64     // the server's clock at that answer
	lateUntil time.Time // latest time at which an unanswered request may run
	due       chan verdict
	maybe     bool // the key may have our value
	queued    bool // we may be in the queue
	held      bool // by another client, as of the last answer
}

func (k *redisKey) attempt(since int64) *redisAttempt {
	return &redisAttempt{k: k, value: k.session.newValue(k.opts.label), since: since}
}

// try asks for the lock until there is an answer: nil if it was taken, or ErrHeld and the holder's
// TTL. After a lost reply it asks again with the same value, which the script recognizes.
func (a *redisAttempt) try(ctx context.Context) (pttl time.Duration, err error) {
	var why error // why there is no answer
	for polls := 0; ; polls++ {
		got, err := a.request(ctx)
		switch {
		case err != nil && a.held && why == nil && ctx.Err() != nil:
			return 0, ErrHeld // by the last answer; the caller's next wait notices the end of ctx
		case err != nil:
			return 0, err
		}
		a.record(got)
		switch {
		case got.taken:
			a.token = got.token
			return 0, nil
		case got.err == nil:
			a.held = true
			return got.pttl, ErrHeld
		case refused(got.err):
			return 0, got.err
		}
		why = got.err
		if err := a.k.session.pause(ctx, pollAfter(-1, polls), nil); err != nil {
			return 0, fmt.Errorf("%w (%w)", err, why)
		}
	}
}

// record keeps what an answer reveals about the server's state.
func (a *redisAttempt) record(got verdict) {
	if got.lateUntil.After(a.lateUntil) {
		a.lateUntil = got.lateUntil
	}
	// A refusal means that we do not have it, unless an earlier request is still on its way. A
	// script that fails after its SET is not rolled back.
	a.maybe = got.taken || !got.lateUntil.IsZero() || refused(got.err) ||
		a.maybe && (got.err != nil || a.k.session.clock.before(a.lateUntil))
	if got.at == 0 {
		return
	}
	if a.at == 0 {
		a.k.opts.asked(got.at)
	}
	a.sent, a.at = got.sent, got.at
	if a.since >= 0 && !got.taken {
		a.queued = true
		a.since = cmp.Or(a.since, got.at)
	}
}

// nearLimit bounds a request to a near master. The caller's own goroutine sends it, and does not notice the end of ctx.
// Another goroutine would cost a fifth of the time of an acquire and release.
const nearLimit = 50 * time.Millisecond

// request sends one request and waits for its answer or for the end of ctx. If ctx ends first, the
// answer arrives in a.due later.
func (a *redisAttempt) request(ctx context.Context) (verdict, error) {
	k := a.k
	switch {
	case ctx.Err() != nil:
		return verdict{}, because(ctx)
	case k.session.ctx.Err() != nil:
		return verdict{}, ErrClosed
	}
	r := request{script: k.acquire, keys: k.keys, value: a.value, ttl: k.opts.ttl, since: a.since, beat: k.beat}
	if ctx.Done() == nil { // ctx cannot end before the answer
		return k.master.acquire(r, k.opts.limit), nil
	}
	if k.master.near(k.keys[0]) {
		r.brief = true
		return k.master.acquire(r, min(nearLimit, k.opts.limit)), nil
	}
	due := make(chan verdict, 1)
	k.session.goDo(func() { due <- k.master.acquire(r, k.opts.limit) })
	select {
	case got := <-due:
		return got, nil
	case <-ctx.Done():
		a.due = due
		return verdict{}, because(ctx)
	}
}

// cleanUpGrace bounds the wait of a failed Acquire for its clean-up on servers that answer. On other servers it
// continues in the background.
const cleanUpGrace = 25 * time.Millisecond

// abandon removes a key or queue entry that is or may be ours, with a separate time limit. It first
// waits for the pending answer or, without one, until the request can no longer be executed. So the
// request cannot arrive after the removal.
func (a *redisAttempt) abandon() {
	if a.due == nil && !a.maybe && !a.queued && a.lateUntil.IsZero() {
		return
	}
	clean := make(chan struct{})
	a.k.session.goDo(func() { a.cleanUp(clean) })
	select {
	case <-clean:
	case <-time.After(cleanUpGrace):
	}
}

func (a *redisAttempt) cleanUp(clean chan<- struct{}) {
	if a.due != nil {
		a.record(<-a.due)
	}
	if !a.maybe && !a.queued && !a.k.session.clock.before(a.lateUntil) {
		close(clean)
		return
	}
	err := a.k.releaseOnce(a.value)
	close(clean)
	if a.k.session.clock.before(a.lateUntil) || !settled(err) {
		a.k.session.removeLater(a.lateUntil, a.k.opts.limit, func() error { return a.k.releaseOnce(a.value) })
	}
}

// releaseOnce sends the release script once, without retries.
func (k *redisKey) releaseOnce(value string) error {
	args := append([]any{value}, k.releaseArgs...)
	return k.master.compare(context.Background(), k.release, k.releaseKeys, k.opts.limit, args...)
}

// settled reports whether a release left nothing of ours on the master.
func settled(err error) bool {
	return err == nil || errors.Is(err, ErrGone) || errors.Is(err, ErrOther)
}

// removeAttempts bounds a removal in the background. The TTL does the rest.
const removeAttempts = 5

// removeLater removes a key once no request of ours can still take it, even while the session is
// closing. It waits for at most a request limit plus clockMaxAge/500. Close cuts the wait between
// two attempts short and makes one more.
func (s *RedisSession) removeLater(lateUntil time.Time, limit time.Duration, remove func() error) {
	time.Sleep(s.clock.until(lateUntil))
	for i := range removeAttempts {
		if settled(remove()) {
			return
		}
		if s.sleep(limit<<i) != nil {
			_ = remove()
			return
		}
	}
}

// granted makes the hold, if there is time left until the deadline, and ctx and the session have not ended.
func (a *redisAttempt) granted(ctx context.Context, until time.Time) (*Hold, error) {
	k := a.k
	r := &redisGrant{k: k, value: a.value, number: a.token, lateUntil: a.lateUntil}
	r.lease = newLease(k.session, newGrant(ctx, k.lock), &k.opts, r.prolong, a.sent, until)
	r.grant.backend = r
	err := r.run(ctx)
	if err == nil {
		return r.grant.hold(ctx), nil
	}
	a.abandon()
	if errors.Is(err, errRanOut) {
		err = fmt.Errorf("%w: the answer took longer than the TTL", context.DeadlineExceeded)
	}
	return nil, acquireError(k.lock, err)
}

// redisGrant is an acquired key.
type redisGrant struct {
	*lease
	k         *redisKey
	value     string
	number    uint64
	lateUntil time.Time
}

func (r *redisGrant) name() string { return r.value }

func (r *redisGrant) token() (uint64, bool) { return r.number, r.number != 0 }

// prolong renews the TTL, retrying while the server is in a transient state.
func (r *redisGrant) prolong(ctx context.Context) error {
	k := r.k
	for i := 0; ; i++ {
		err := k.master.compare(ctx, extendScript, k.keys[:1], k.opts.limit, r.value, k.opts.ttl.Milliseconds())
		if !transient(err) {
			return err
		}
		if k.session.pause(ctx, pollAfter(k.opts.ttl/10, i), nil) != nil {
			return err
		}
	}
}

// release deletes the key, trying again while the answer is missing, and continues in the background when ctx ends.
func (r *redisGrant) release(ctx context.Context) error {
	r.stop()
	s := r.k.session
	if !s.enter() {
		return ErrClosed
	}
	defer s.leave()
	if ctx.Done() == nil {
		return r.remove()
	}
	result := make(chan error, 1)
	s.goDo(func() { result <- r.remove() })
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return because(ctx)
	}
}

func (r *redisGrant) abandon() {
	r.stop()
	s := r.k.session
	if !s.enter() {
		return
	}
	defer s.leave()
	s.goDo(func() { _ = r.remove() })
}

// remove deletes the key, asking again while there is no answer.
func (r *redisGrant) remove() error {
	k := r.k
	var unanswered error // of an earlier request
	expires, _ := r.deadline()
	for i := 0; ; i++ {
		err := k.releaseOnce(r.value)
		switch {
		case settled(err):
			return r.removed(err, unanswered)
		case refused(err), !k.session.clock.before(expires):
			return err
		case !answered(err) && (unanswered == nil || !k.master.unsent(err)): // a request that was sent may have been executed
			unanswered = err
		}
		if k.session.sleep(pollAfter(-1, i)) != nil {
			return fmt.Errorf("%w (%w)", ErrClosed, err)
		}
	}
}

// endsLater reports whether the key's TTL cannot have run out yet.
func (r *redisGrant) endsLater() bool {
	expires, _ := r.deadline()
	return r.k.session.clock.before(expires)
}

// removed reads the answer to a release. A missing key was deleted by an earlier request whose
// answer was lost. If that request was never sent and the TTL cannot have run out, the lock was
// lost.
func (r *redisGrant) removed(err, unanswered error) error {
	if k := r.k; k.session.clock.before(r.lateUntil) {
		k.session.goDo(func() {
			k.session.removeLater(r.lateUntil, k.opts.limit, func() error { return k.releaseOnce(r.value) })
		})
	}
	switch {
	case err != nil && (answered(unanswered) || r.k.master.unsent(unanswered) && r.endsLater()):
		return fmt.Errorf("%w: %w", ErrLost, err)
	case errors.Is(err, ErrOther):
		return fmt.Errorf("%w: %w (%w)", ErrUnknownRelease, err, unanswered)
	}
	return nil
}
