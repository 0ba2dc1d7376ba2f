package lockops

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// lease keeps an acquisition with a TTL: it renews in time and tells the loss before the TTL has run out on any server.
type lease struct {
	session *RedisSession
	grant   *grant
	opts    *options
	prolong func(ctx context.Context) error // sets the TTL anew on the servers

	mu    sync.Mutex
	until time.Time
	moved chan struct{} // until has changed
}

// newLease makes the lease of a lock that was taken by requests sent at an instant.
func newLease(s *RedisSession, g *grant, opts *options, prolong func(context.Context) error, sent time.Time) *lease {
	return &lease{
		session: s, grant: g, opts: opts, prolong: prolong, until: expiry(sent, opts.ttl),
		moved: make(chan struct{}, 1),
	}
}

// expiry is when a holder stops to trust a TTL that was set by a request sent at an instant.
func expiry(sent time.Time, ttl time.Duration) time.Time { return sent.Add(ttl - drift(ttl)) }

// early is how much before the deadline the holder is told.
const early = 2 * time.Millisecond

// run starts to keep the lease, unless it has run out already.
func (l *lease) run() bool {
	if !time.Now().Before(l.until.Add(-early)) {
		return false
	}
	return l.session.goDo(l.keep)
}

func (l *lease) deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until, true
}

// keep renews every third of the TTL, and when that was not answered sooner again; when the deadline comes near without
// a renewal the hold is lost.
func (l *lease) keep() {
	third := l.opts.ttl / 3
	timer := time.NewTimer(third)
	defer timer.Stop()
	var renewed chan error
	for {
		until, _ := l.deadline()
		end := time.NewTimer(time.Until(until.Add(-early)))
		tick := timer.C
		if !l.opts.renew || renewed != nil {
			tick = nil
		}
		select {
		case <-end.C:
			if now, _ := l.deadline(); now.Equal(until) {
				l.lost(errRanOut)
				return
			}
		case <-tick:
			renewed = make(chan error, 1)
			result := renewed
			if !l.session.goDo(func() { result <- l.extend(l.grant.ctx) }) {
				l.lost(ErrClosed)
				return
			}
		case err := <-renewed:
			renewed = nil
			wait := third
			if err != nil {
				wait = max(l.opts.ttl/30, 5*time.Millisecond)
			} else {
				until, _ := l.deadline()
				l.opts.renewed(until)
			}
			timer.Reset(wait)
		case <-l.moved:
		case <-l.grant.ctx.Done():
			end.Stop()
			return
		case <-l.session.ctx.Done():
			l.lost(ErrClosed)
			return
		}
		end.Stop()
	}
}

var errRanOut = errors.New("its TTL ran out before it could be renewed")

// lost ends the hold; what is left on the servers is for the release.
func (l *lease) lost(reason error) { l.grant.lose(reason) }

// extend sets the TTL anew, if it can be done before the deadline; the new one counts from before the request was sent.
func (l *lease) extend(ctx context.Context) error {
	until, _ := l.deadline()
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	sent := time.Now()
	err := l.prolong(ctx)
	if err == nil && time.Now().Before(until) {
		l.prolonged(sent)
	}
	if errors.Is(err, ErrLost) || errors.Is(err, ErrGone) || errors.Is(err, ErrOther) {
		l.lost(err)
	}
	if lost := l.grant.lost(); lost != nil {
		return lost
	}
	if err == nil && !time.Now().Before(until) {
		return fmt.Errorf("%w: %w", ErrLost, errRanOut)
	}
	return err
}

func (l *lease) prolonged(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := expiry(sent, l.opts.ttl); until.After(l.until) {
		l.until = until
		select {
		case l.moved <- struct{}{}:
		default:
		}
	}
}
