package lockops

import (
	"context"
	"errors"
	"sync"
	"time"
)

// vote is one master's part in an election. Its requests stand in line, so that a release never overtakes the SET.
type vote struct {
	e      *election
	master *master

	line sync.Mutex // held while a request is under way; guards all below
	over bool       // taken back: no more requests but releases
	has  bool       // the key has our value, as far as we know
	fate time.Time  // until when an unanswered request to set it may still be executed
	err  error      // of the newest request to set it
}

// errNoVote: the master has nothing of ours.
var errNoVote = errors.New("the master did not vote for us")

// ask sends the first request to set the key, when earlier votes of this session have been taken back: a master that
// their release did not wait for would refuse. The line is held already.
func (v *vote) ask(before []chan struct{}) {
	defer v.line.Unlock()
	awaitLeft(before, v.e.l.opts.limit)
	if !v.e.over.Load() {
		v.set()
	}
}

// set asks the master for the key. The line is held.
func (v *vote) set() {
	o := &v.e.l.opts
	got := v.master.setOnce(v.e.l.lock.name, v.e.value, o.ttl, o.limit, false)
	v.has, v.err = got.taken, got.err
	if got.fate.After(v.fate) {
		v.fate = got.fate
	}
}

func (v *vote) result() (taken bool, err error) {
	v.line.Lock()
	defer v.line.Unlock()
	return v.has, v.err
}

// prolong sets the TTL anew, trying again until ctx ends while there is no answer. A master that has no key of ours is
// asked for one, so as to have more than a bare majority again; that counts from the next time on only, since the key
// may have been somebody else's in between.
func (v *vote) prolong(ctx context.Context) error {
	o := &v.e.l.opts
	for {
		err := v.prolongOnce(ctx)
		if err == nil || settled(err) || errors.Is(err, errNoVote) {
			return err
		}
		select {
		case <-time.After(o.limit / 2):
		case <-ctx.Done():
			return err
		}
	}
}

func (v *vote) prolongOnce(ctx context.Context) error {
	v.line.Lock()
	defer v.line.Unlock()
	o := &v.e.l.opts
	switch {
	case v.over || ctx.Err() != nil:
		return v.master.failed(errNoVote)
	case !v.has:
		v.set()
		return errNoVote
	}
	err := v.master.extendOnce(ctx, v.e.l.lock.name, v.e.value, o.ttl, o.limit)
	if errors.Is(err, ErrGone) || errors.Is(err, ErrOther) {
		v.has = false
	}
	return err
}

// takeBack deletes the key behind all other requests, and sends the outcome: nil deleted, errNoVote, or a *NodeError. If
// it cannot be certain then that nothing of ours is left or will come, it goes on trying.
func (v *vote) takeBack(back chan<- error, left func()) {
	v.line.Lock()
	v.over = true
	has, fate := v.has, v.fate
	v.has = false
	o, key := &v.e.l.opts, v.e.l.lock.name
	if !has && fate.IsZero() {
		v.line.Unlock()
		left()
		back <- errNoVote
		return
	}
	err := v.master.releaseOnce(context.Background(), key, v.e.value, "", o.limit)
	v.line.Unlock()
	left()
	if !has && settled(err) {
		back <- errNoVote
	} else {
		back <- err
	}
	if !settled(err) || time.Now().Before(fate) {
		v.e.l.session.removeLater(v.master, key, v.e.value, "", o.limit, fate)
	}
}
