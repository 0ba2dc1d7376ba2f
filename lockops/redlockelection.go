package lockops

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// election is one attempt to acquire a Redlock, with its value and each master's vote.
type election struct {
	l     *Redlock
	value string
	sent  time.Time // when the first request that won a vote was sent
	votes []vote
	cast  chan *vote
	over  atomic.Bool // no more masters need to be asked

	// used by the counting goroutine alone
	open, yes int
	refusals  []*vote // of masters on which another client has the key
	bad       []error

	mu      sync.Mutex
	deleted int  // votes that were taken back
	waits   bool // the lock has waiters
	woken   bool // the next waiter has been woken, or is about to be
}

func (l *Redlock) newElection() *election {
	e := &election{
		l: l, value: l.session.newValue(l.opts.label),
		votes: make([]vote, len(l.session.masters)), cast: make(chan *vote, len(l.session.masters)),
	}
	for i, m := range l.session.masters {
		v := &e.votes[i]
		v.e, v.master, v.since = e, m, notInQueue
	}
	return e
}

// first returns the vote of the master that orders the waiters: the first one not known to be
// silent.
func (e *election) first() *vote {
	for i := range e.votes {
		if v := &e.votes[i]; !v.master.silent() {
			return v
		}
	}
	return &e.votes[0]
}

func (e *election) request(v *vote) {
	v.asked = true
	e.open++
	before := v.master.releases(e.l.lock.name)
	v.requestMu.Lock() // held until the request has ended, so that a release waits for it
	e.l.session.goDo(func() { v.request(before); e.cast <- v })
}

// requestAll asks all remaining masters in parallel.
func (e *election) requestAll() {
	for i := range e.votes {
		if v := &e.votes[i]; !v.asked {
			e.request(v)
		}
	}
}

// await counts votes until done returns true, all votes are in, or ctx ends.
func (e *election) await(ctx context.Context, done func() bool) error {
	for e.open > 0 && !done() {
		select {
		case v := <-e.cast:
			e.open--
			v.counted = true
			switch taken, sent, err := v.result(); {
			case taken:
				v.gave = true
				if e.yes == 0 || sent.Before(e.sent) {
					e.sent = sent
				}
				e.yes++
			case err != nil:
				e.bad = append(e.bad, err)
			default:
				e.refusals = append(e.refusals, v)
			}
		case <-ctx.Done():
			return because(ctx)
		case <-e.l.session.ctx.Done():
			return ErrClosed
		}
	}
	return nil
}

// count waits until the outcome is certain. It does not wait for slow masters.
func (e *election) count(ctx context.Context) error {
	quorum := e.l.session.quorum()
	if err := e.await(ctx, func() bool { return e.yes >= quorum || e.yes+e.open < quorum }); err != nil {
		return err
	}
	switch {
	case e.yes >= quorum:
		return nil // the lease reads the clock again and refuses when it is too late
	case len(e.bad) > len(e.votes)-quorum:
		return withNodes(e.bad, ErrNoQuorum)
	}
	return withNodes(e.bad, ErrHeld)
}

// decide returns the hold of a won election, and withdraws the votes of a lost one.
func (e *election) decide(ctx context.Context) (*Hold, error) {
	err := e.count(ctx)
	if err == nil {
		g := newGrant(ctx, e.l.lock)
		r := &redlockGrant{e: e}
		r.lease = newLease(e.l.session, g, &e.l.opts, r.prolong, e.sent, expiry(e.sent, e.l.opts.ttl))
		r.cleanUp = r.abandon
		g.backend = r
		if err = r.run(ctx); err == nil {
			return g.hold(ctx), nil
		}
		if errors.Is(err, errRanOut) {
			err = fmt.Errorf("%w: the answers took longer than the TTL", ErrNoQuorum)
		}
	}
	e.withdraw()
	return nil, err
}

// withdraw takes all votes back, and waits briefly for the masters. Slow ones finish in the
// background.
func (e *election) withdraw() {
	back := make(chan error, len(e.votes))
	grace := time.After(cleanUpGrace)
	for range e.rollBack(back) {
		select {
		case <-back:
		case <-grace:
			return
		}
	}
}

// rollBack starts taking all votes back. Each sends its outcome, in any order; nil means that the
// key was deleted.
func (e *election) rollBack(back chan<- error) (started int) {
	e.over.Store(true)
	for i := range e.votes {
		v := &e.votes[i]
		done := v.master.releasing(e.l.lock.name)
		e.l.session.goDo(func() { v.rollBack(back, done) })
	}
	return len(e.votes)
}

// tookBack records a vote that was taken back. Once a majority is free, the next waiter is
// notified.
func (e *election) tookBack(waits bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deleted++
	if waits {
		e.waits = true
		e.l.session.contended.mark(e.l.lock, e.l.session.clock.now())
	}
	if !e.waits || e.woken || e.deleted < e.l.session.quorum() {
		return
	}
	e.woken = true
	e.l.session.goDo(func() {
		m := e.first().master
		_ = m.compare(context.Background(), turnScript, e.l.keyAndTurns, e.l.limit(m), m.counts(), "")
	})
}

// redlockGrant is an acquired majority.
type redlockGrant struct {
	*lease
	e *election
}

func (r *redlockGrant) name() string { return r.e.value }

// token returns false, since Redlock has no order that a token could follow.
func (r *redlockGrant) token() (uint64, bool) { return 0, false }

// prolong renews the TTL on a majority. Without a majority, whatever the reason, the lock is lost
// at once.
func (r *redlockGrant) prolong(ctx context.Context) error {
	e := r.e
	round, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.l.opts.ttl/3)
	stop := context.AfterFunc(ctx, cancel)
	results := make(chan error, len(e.votes))
	for i := range e.votes {
		v := &e.votes[i]
		e.l.session.goDo(func() { results <- v.prolong(round) })
	}
	quorum := e.l.session.quorum()
	var bad []error
	yes := 0
	for open := len(e.votes); yes < quorum && yes+open >= quorum; open-- {
		if err := <-results; err == nil {
			yes++
		} else if !errors.Is(err, errNoVote) {
			bad = append(bad, err)
		}
	}
	stop()
	if yes >= quorum { // the other requests may take one more time limit
		time.AfterFunc(e.l.opts.limitMost(), cancel)
		return nil
	}
	cancel()
	if ctx.Err() != nil {
		return withNodes(bad, because(ctx))
	}
	return withNodes(bad, ErrLost, ErrNoQuorum)
}

func (r *redlockGrant) abandon() {
	r.stop()
	s := r.e.l.session
	if !s.enter() {
		return
	}
	defer s.leave()
	r.e.rollBack(make(chan error, len(r.e.votes)))
}

// release takes all votes back and waits for a majority to confirm it; the others go on in the background.
// Without one, the error has a NodeError for each master that had a vote and did not confirm: ErrGone and
// ErrOther mean that the vote was lost before, anything else that the master did not answer.
func (r *redlockGrant) release(ctx context.Context) error {
	r.stop()
	e := r.e
	s := e.l.session
	if !s.enter() {
		return ErrClosed
	}
	defer s.leave()
	back := make(chan error, len(e.votes))
	quorum := s.quorum()
	var deleted, silent int
	var bad []error
	for open := e.rollBack(back); open > 0; open-- {
		select {
		case err := <-back:
			switch {
			case err == nil:
				deleted++
			case errors.Is(err, errNoVote):
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
	if deleted+silent < quorum {
		return withNodes(bad, ErrLost)
	}
	return withNodes(bad, ErrNoQuorum)
}
