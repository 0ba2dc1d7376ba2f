package lockops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Redlock is an exclusive lock spread over N independent Redis masters, 3 or 5 (any N works; an even one tolerates no
// more failures than the odd one below): held by whoever has the key on a majority (redis.io, "Distributed locks with
// Redis": the Redlock algorithm). The key is a plain one: clients of other Redlock libraries are kept out, and keep out.
//
// It has no fencing token; see the package documentation for what else it cannot promise.
type Redlock struct {
	session *RedisSession
	opts    options
	lock    lockKey
}

// NewRedlock makes a lock of a key on all masters of the session. Options: WithLabel, WithTTL,
// WithoutRenewal, WithMasterLimit, WithReentry, OnWaiting, OnRenew.
func NewRedlock(s *RedisSession, key string, opts ...Option) *Redlock {
	l := &Redlock{session: s, opts: newOptions(redlockKeeps, opts), lock: lockKey{s, "redlock", key}}
	if l.opts.limit <= 0 {
		l.opts.limit = min(max(l.opts.ttl/20, 50*time.Millisecond), 500*time.Millisecond, l.opts.ttl/3)
	}
	return l
}

// Acquire tries, each time after a longer random pause, until it has a majority or ctx ends. The error then also wraps why
// the last try failed: ErrHeld, or ErrNoQuorum with a NodeError for each master that did not answer as needed.
func (l *Redlock) Acquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, l.lock, &l.opts); h != nil || err != nil {
		return h, err
	}
	done, err := l.session.turns.take(ctx, l.lock)
	if err != nil {
		return nil, acquireError(l.lock, err)
	}
	defer done()
	for tries := 0; ; tries++ {
		h, failed := l.try(ctx, tries == 0)
		if h != nil {
			return h, nil
		}
		if err := l.session.pause(ctx, redlockPause(tries), nil); err != nil {
			if ctx.Err() != nil && errors.Is(failed, ctx.Err()) {
				return nil, acquireError(l.lock, failed)
			}
			return nil, acquireError(l.lock, fmt.Errorf("%w (%w)", err, failed))
		}
	}
}

// TryAcquire asks the masters once. It returns ErrHeld when somebody else has the key on so many that there was no
// majority, and ErrNoQuorum when too few answered.
func (l *Redlock) TryAcquire(ctx context.Context) (*Hold, error) {
	if h, err := begin(ctx, l.lock, &l.opts); h != nil || err != nil {
		return h, err
	}
	h, err := l.try(ctx, false)
	if err != nil {
		return nil, acquireError(l.lock, err)
	}
	return h, nil
}

const (
	redlockFirst = 10 * time.Millisecond
	redlockMost  = 200 * time.Millisecond
)

// redlockPause is random, so that contenders that split the votes do not do so again.
func redlockPause(tries int) time.Duration {
	return time.Millisecond + rand.N(min(redlockFirst<<min(tries, 10), redlockMost))
}

// try holds one vote, with a value of its own.
func (l *Redlock) try(ctx context.Context, tell bool) (*Hold, error) {
	e := l.elect()
	if e == nil {
		return nil, ErrClosed
	}
	err := e.count(ctx)
	if err == nil {
		g := newGrant(ctx, l.lock)
		r := &redlockGrant{e: e}
		r.lease = newLease(l.session, g, &l.opts, r.prolong, e.sent)
		g.backend = r
		if r.run() {
			return g.hold(ctx), nil
		}
		err = fmt.Errorf("%w: the answers took longer than the TTL", ErrNoQuorum)
	}
	if tell && errors.Is(err, ErrHeld) {
		l.opts.waiting(e.value)
	}
	e.withdraw()
	return nil, err
}

// election is one acquisition: its value, and the vote of each master.
type election struct {
	l     *Redlock
	value string
	sent  time.Time
	votes []*vote
	cast  chan *vote
	over  atomic.Bool // taken back: nobody needs to be asked any more
}

// elect asks all masters at once; nil when the session is closed.
func (l *Redlock) elect() *election {
	e := &election{
		l: l, value: newValue(l.opts.label), sent: time.Now(),
		cast: make(chan *vote, len(l.session.masters)),
	}
	for _, m := range l.session.masters {
		v := &vote{e: e, master: m}
		before := m.stillLeaving(l.lock.name)
		e.votes = append(e.votes, v)
		v.line.Lock() // until it has asked: a release stands behind it
		if !l.session.goDo(func() { v.ask(before); e.cast <- v }) {
			v.line.Unlock()
			e.votes = e.votes[:len(e.votes)-1]
			e.withdraw()
			return nil
		}
	}
	return e
}

// count waits until the votes decide, not for the slow ones.
func (e *election) count(ctx context.Context) error {
	quorum := e.l.session.quorum()
	yes := 0
	var bad []error
	for open := len(e.votes); yes < quorum; open-- {
		if yes+open < quorum {
			if len(bad) > len(e.votes)-quorum {
				return withNodes(bad, ErrNoQuorum)
			}
			return withNodes(bad, ErrHeld)
		}
		select {
		case v := <-e.cast:
			switch taken, err := v.result(); {
			case taken:
				yes++
			case err != nil:
				bad = append(bad, err)
			}
		case <-ctx.Done():
			return because(ctx)
		}
	}
	return nil // the lease reads the clock again and refuses when it is too late
}

// withdraw takes all votes back, and waits for the masters that answer in time; the others are left to the background.
func (e *election) withdraw() {
	back := make(chan error, len(e.votes))
	limit := time.NewTimer(2 * e.l.opts.limit)
	defer limit.Stop()
	for range e.takeBack(back) {
		select {
		case <-back:
		case <-limit.C:
			return
		}
	}
}

// takeBack starts to take all votes back. Each sends its outcome, in any order: nil for a key that was deleted.
func (e *election) takeBack(back chan<- error) (started int) {
	e.over.Store(true)
	for _, v := range e.votes {
		left := v.master.leave(e.l.lock.name)
		if e.l.session.goDo(func() { v.takeBack(back, left) }) {
			started++
		} else {
			left()
		}
	}
	return started
}

// redlockGrant is an acquired majority.
type redlockGrant struct {
	*lease
	e *election
}

func (r *redlockGrant) name() string { return r.e.value }

// token: Redlock has no order that a token could follow.
func (r *redlockGrant) token() (uint64, bool) { return 0, false }

// prolong sets the TTL anew on a majority. With less than that, whatever the reason, the lock is lost now.
func (r *redlockGrant) prolong(ctx context.Context) error {
	e := r.e
	round, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.l.opts.ttl/3)
	stop := context.AfterFunc(ctx, cancel)
	results := make(chan error, len(e.votes))
	open := 0
	for _, v := range e.votes {
		if e.l.session.goDo(func() { results <- v.prolong(round) }) {
			open++
		}
	}
	quorum := e.l.session.quorum()
	var bad []error
	for yes := 0; ; open-- {
		if yes >= quorum {
			stop() // the others go on, for one more limit
			time.AfterFunc(e.l.opts.limit, cancel)
			return nil
		}
		if yes+open < quorum {
			break
		}
		if err := <-results; err == nil {
			yes++
		} else if !errors.Is(err, errNoVote) {
			bad = append(bad, err)
		}
	}
	stop()
	cancel()
	if ctx.Err() != nil {
		return withNodes(bad, because(ctx))
	}
	e.takeBack(make(chan error, len(e.votes)))
	return withNodes(bad, ErrLost, ErrNoQuorum)
}

func (r *redlockGrant) abandon() { r.e.takeBack(make(chan error, len(r.e.votes))) }

// release takes all votes back and waits for a majority to confirm it; the others go on in the background. Without one,
// the error has a NodeError for each master that had a vote and did not confirm: ErrGone and ErrOther mean that the vote
// was lost before, anything else that the master did not answer.
func (r *redlockGrant) release(ctx context.Context) error {
	e := r.e
	back := make(chan error, len(e.votes))
	quorum := e.l.session.quorum()
	var deleted, none, silent int
	var bad []error
	for open := e.takeBack(back); open > 0; open-- {
		select {
		case err := <-back:
			switch {
			case err == nil:
				deleted++
			case errors.Is(err, errNoVote):
				none++
			default:
				bad = append(bad, err)
				if !settled(err) {
					silent++
				}
			}
		case <-ctx.Done():
			return withNodes(bad, because(ctx))
		}
		if deleted >= quorum {
			return nil
		}
	}
	switch {
	case deleted+silent < quorum:
		return withNodes(bad, ErrLost)
	case len(bad) == 0:
		return nil
	}
	return withNodes(bad, ErrNoQuorum)
}
