package lockops

import (
	"context"
	"errors"
	"sync"
	"time"
)

// vote is one master's part in an election. Its requests go one after another, so that a release never
// overtakes the SET.
type vote struct {
	e      *election
	master *master

	// Only the counting goroutine uses these. They say whether the master was asked,
	// whether its answer is in, and whether it counts.
	asked, counted, gave bool

	// queues is set for the master that orders the waiters. There, name and since are the waiter's
	// name and place, and polite means that it lets others go first.
	queues bool
	name   string
	since  int64
	polite bool

	requestMu sync.Mutex // held while a request is under way; guards all below
	over      bool       // it is being released, so other requests are not sent
	has       bool       // the key has our value, as far as we know
	lateUntil time.Time  // latest time at which an unanswered request to set it may run
	sent      time.Time  // earliest time at which the successful request was sent
	at        int64      // the master's clock when it answered, µs since 1970
	err       error      // of the newest request to set it
}

// errNoVote means that the master has nothing of ours.
var errNoVote = errors.New("the master did not vote for us")

// request sends the first request to set the key once earlier votes of this session have been taken
// back. A master whose release is still pending would refuse. request waits for those releases, but
// no longer than the request limit. requestMu is held already.
func (v *vote) request(before []chan struct{}) {
	defer v.requestMu.Unlock()
	if !v.master.admit(v.limit()) {
		v.err = v.master.failed(ErrDead)
		return
	}
	awaitReleases(before, v.limit())
	if !v.e.over.Load() {
		v.set()
	}
}

func (v *vote) limit() time.Duration { return v.e.l.limit(v.master) }

func (v *vote) keys() []string {
	if v.queues {
		return v.e.l.keyAndTurns
	}
	return v.e.l.key
}

// set asks the master for the key, if the master may vote. requestMu is held.
func (v *vote) set() {
	o, s := &v.e.l.opts, v.e.l.session
	if v.err = v.entitled(s.clock.now().Add(-lentIdentity)); v.err != nil {
		return
	}
	dials := v.master.dials.Load()
	got := v.master.acquire(request{
		script: acquireScript, keys: v.keys(), value: v.e.value, ttl: o.ttl, since: v.since, name: v.name,
		polite: v.polite,
	}, v.limit())
	v.has, v.err = got.taken, got.err
	v.sent, v.at = got.sent, got.at
	if got.lateUntil.After(v.lateUntil) {
		v.lateUntil = got.lateUntil
	}
	if v.has && (s.lent || v.master.dials.Load() != dials) { // perhaps now a different or restarted server
		v.err = v.entitled(s.clock.now())
	}
}

// entitled returns an error for a master that is the same server as another, or that may not vote
// yet. For since, see identify.
func (v *vote) entitled(since time.Time) error {
	o := &v.e.l.opts
	if err := v.master.identify(since, v.limit()); err != nil {
		return err
	}
	return v.master.mayVote(o.ttl)
}

// result reports whether the vote counts, and from when. A vote that does not count is taken back
// with the others.
func (v *vote) result() (taken bool, sent time.Time, err error) {
	v.requestMu.Lock()
	defer v.requestMu.Unlock()
	return v.has && v.err == nil, v.sent, v.err
}

// prolong renews the TTL, and retries until ctx ends if there is no answer. It asks a master that
// lacks our key for a new vote, to have more than a bare majority again. Such a vote counts only
// from the next renewal on, since another client may have had the key in between.
func (v *vote) prolong(ctx context.Context) error {
	for {
		err := v.prolongOnce(ctx)
		if err == nil || settled(err) || errors.Is(err, errNoVote) || refused(err) {
			return err
		}
		select {
		case <-time.After(v.limit() / 2):
		case <-ctx.Done():
			return err
		}
	}
}

func (v *vote) prolongOnce(ctx context.Context) error {
	v.requestMu.Lock()
	defer v.requestMu.Unlock()
	o := &v.e.l.opts
	switch {
	case v.over || ctx.Err() != nil:
		return v.master.failed(errNoVote)
	case !v.has:
		v.since, v.queues, v.name, v.polite = notInQueue, false, "", false
		if v.master.admit(v.limit()) {
			v.set()
		}
		return errNoVote
	}
	err := v.master.compare(ctx, extendScript, v.e.l.key, v.limit(), v.e.value, o.ttl.Milliseconds())
	if errors.Is(err, ErrGone) || errors.Is(err, ErrOther) {
		v.has = false
	}
	return err
}

// rollBack deletes the key after all other requests and sends the outcome: nil if it was deleted,
// errNoVote, or a *NodeError. It keeps trying until it is certain that nothing of ours is left or
// will arrive.
func (v *vote) rollBack(back chan<- error, done func()) {
	v.requestMu.Lock()
	v.over = true
	has, lateUntil := v.has, v.lateUntil
	v.has = false
	if !has && lateUntil.IsZero() {
		v.requestMu.Unlock()
		done()
		back <- errNoVote
		return
	}
	waits, err := v.release()
	v.requestMu.Unlock()
	done()
	if err == nil {
		v.e.tookBack(waits)
	}
	if !has && settled(err) {
		back <- errNoVote
	} else {
		back <- err
	}
	if !settled(err) || v.e.l.session.clock.before(lateUntil) {
		v.e.l.session.removeLater(lateUntil, v.limit(), func() error {
			_, err := v.release()
			return err
		})
	}
}

// release deletes the key. The master that orders the waiters also reports whether there are any.
func (v *vote) release() (waits bool, err error) {
	keys := v.e.l.key
	if v.e.first() == v {
		keys = v.e.l.keyAndTurns
	}
	reply, err := v.master.compareReply(context.Background(), voteReleaseScript, keys, v.limit(), v.e.value)
	return reply == "2", err
}
