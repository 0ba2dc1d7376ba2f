package contend

import (
	"context"
	"errors"
	"time"

	"github.com/lockscope/lockscope/lockops"
)

// After each failure a contender pauses longer. In a run by rounds it gives up after a number of
// failures in a row.
const (
	pauseFirst = 50 * time.Millisecond
	pauseMost  = time.Second
	giveUp     = 10
)

// contend runs one contender.
func (r *Run) contend(ctx context.Context, i int) {
	times := Times(r.cfg.Seed, i, r.cfg.Hold, r.cfg.Think)
	defer r.update(func(at time.Time) { r.ledger.leave(i, at) })
	failures := 0
	for grants := 0; r.cfg.Rounds == 0 || grants < r.cfg.Rounds; {
		hold, think := times()
		if failures > 0 {
			think = max(think, min(pauseFirst<<min(failures-1, 10), pauseMost))
		}
		r.update(func(at time.Time) { r.ledger.think(i, at) })
		if !sleep(ctx, think) {
			return
		}
		granted := r.round(ctx, i, hold)
		switch {
		case ctx.Err() != nil:
			return
		case granted:
			grants++
			failures = 0
		default:
			if failures++; failures == giveUp && r.cfg.For == 0 {
				return
			}
		}
	}
}

// round acquires, holds and releases the lock once.
func (r *Run) round(ctx context.Context, i int, length time.Duration) (granted bool) {
	r.record(func(at time.Time) Event {
		r.ledger.queue(i, at)
		if r.about.Order == OrderOfCalls {
			r.ledger.arrive(i, at.UnixNano())
		}
		return Event{Kind: Queued, Contender: i, At: at}
	})
	h, err := r.members[i].Acquire(ctx, func(place int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ledger.arrive(i, place)
	})
	if err != nil {
		r.record(func(at time.Time) Event {
			if ctx.Err() != nil {
				return Event{Kind: Left, Contender: i, At: at}
			}
			return r.ledger.fail(i, at, err)
		})
		return false
	}
	r.record(func(at time.Time) Event { return r.ledger.grant(i, at) })
	r.hold(ctx, i, h, length)
	r.release(ctx, i, h)
	return true
}

// hold keeps the lock for a while, until it is lost or the run ends, and checks its fencing token.
func (r *Run) hold(ctx context.Context, i int, h Hold, length time.Duration) {
	if length > 0 {
		select {
		case <-time.After(length):
		case <-ctx.Done():
			return
		case <-h.Context().Done():
			return
		}
	}
	if length >= r.about.TokenAfter {
		r.fence(i, h)
	}
}

func (r *Run) fence(i int, h Hold) {
	token, ok := h.Token()
	if !ok || h.Context().Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.fence(i, token)
}

// release releases the lock with its own time limit, since the run may have ended.
func (r *Run) release(ctx context.Context, i int, h Hold) {
	lost := h.Context().Err() != nil
	r.record(func(at time.Time) Event {
		e := r.ledger.release(i, at, !lost)
		if lost {
			e = r.ledger.lose(i, at, context.Cause(h.Context()))
		}
		return e
	})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	switch err := h.Release(ctx); {
	case err == nil:
	case !errors.Is(err, lockops.ErrLost):
		r.record(func(at time.Time) Event { return r.ledger.fail(i, at, err) })
	case !lost:
		r.record(func(at time.Time) Event { return r.ledger.lose(i, at, err) })
	}
}

// update changes the ledger at the current time.
func (r *Run) update(take func(at time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	take(r.cfg.Now())
}

// record is like update, and sends the event unless the channel is full.
func (r *Run) record(take func(at time.Time) Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.events <- take(r.cfg.Now()):
	default:
		r.dropped++
	}
}

// sleep waits, and returns false if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
