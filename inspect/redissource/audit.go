package redissource

import (
	"slices"
	"time"

	"lockscope/inspect/internal/sourcekit"
)

// At rest a master that pushes is hardly asked anything. What a push cannot be trusted with is caught by a net, cast at
// a slow beat: one EXISTS for many keys at once, which counts those that are there, and one key in turn read in full.
const (
	auditSize   = 1000 // keys in one EXISTS
	sweepSample = 1    // keys read in full: with more a master at rest gets more than a command a second
	// auditEvery is the interval of asking a master that does not push: it reports no deletion by itself.
	auditEvery = 2 * time.Second
)

// auditSweep audits the masters that push.
func (r *run) auditSweep() {
	now := r.cfg.Now()
	for key, at := range r.held {
		if !r.dirty[key] && at.Before(now) {
			delete(r.held, key)
		}
	}
	r.table.sweep(now)
	sample := r.table.choose(sweepSample, func(string) int { return 1 }, nil, now)
	for _, p := range r.masters {
		p.sweep(now)
		if !p.pushing || !p.up() {
			continue
		}
		if p.sample = sample; !r.audit(p, now) {
			r.wantSample(p)
		}
		r.tasks.Go(func() {
			if locks := p.Joined(r.ctx); len(locks) > 0 {
				send(r.ctx, r.audited, locks)
			}
		})
	}
}

// wantSample makes a master read its sample.
func (r *run) wantSample(p *masterState) {
	for _, key := range p.sample {
		p.want(key, r.perKey, r.cfg.Now())
	}
	p.sample = nil
}

// counted is a master's answer to how many of the keys exist that should. The keys in gone do not.
type counted struct {
	master int
	gone   []string
	asked  time.Time
	err    error
	last   bool // nothing more of this count comes
}

// counted handles keys that a master does not have any more. If it pushes and did not push their end, as
// after SWAPDB, any key may be another since the last count: all are read again.
func (r *run) counted(c counted) {
	p := r.masters[c.master]
	if p.pushing && slices.ContainsFunc(c.gone, func(key string) bool { return r.endedUnpushed(p, key, c.asked) }) {
		r.table.unwatch(p.index, later(p.countedAt, p.armedAt))
		r.readAll(p)
		p.armedAt = r.cfg.Now() // its keys have to be gone over once more: others may have come
		p.resting.Store(false)
	}
	r.wantAll(c.gone)
	if c.last && c.err == nil {
		p.countedAt = c.asked
	}
	if c.last && p.pushing { // of the others everything is read again and again
		r.wantSample(p)
	}
}

// endedUnpushed reports whether a key that was not there when a master was asked still is by all that it pushed.
func (r *run) endedUnpushed(p *masterState, key string, asked time.Time) bool {
	e := r.table.entries[key]
	at, ok := r.table.place(key, p.index)
	if e == nil || !ok || p.wanted[key] || r.asked[key] > 0 {
		return false
	}
	return e.votes[at].Present && e.votes[at].ReadAt.Before(asked)
}

// audit has a master count the keys that should be there, unless it is still at it; it reports whether that was begun.
func (r *run) audit(p *masterState, now time.Time) bool {
	if p.InCluster() {
		return false // one command cannot count the keys of several slots
	}
	keys := r.present(p, now)
	if len(keys) == 0 || p.counting.Swap(true) {
		return false
	}
	p.auditedAt = now
	var wait time.Duration
	if p.pushing {
		wait = p.Timeout // for pushes on their way
	}
	r.tasks.Go(func() {
		err := r.count(p, keys, now, wait)
		p.counting.Store(false)
		send(r.ctx, r.counts, counted{master: p.index, asked: now, err: err, last: true})
	})
	return true
}

// present are the keys that should be on a master and not run out in a moment.
func (r *run) present(p *masterState, now time.Time) []string {
	soon := now.Add(sweepEvery)
	var keys []string
	for key, e := range r.table.entries {
		at, ok := r.table.place(key, p.index)
		if !ok {
			continue
		}
		if v := e.votes[at]; v.Up && v.Present && (v.Held == nil || !v.Held.Auxiliary) && (v.ExpiresAt.IsZero() || v.ExpiresAt.After(soon)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// count asks for keys that should all be there, spread over the beat, and reports those that are not.
func (r *run) count(p *masterState, keys []string, asked time.Time, wait time.Duration) error {
	rest := sweepEvery / time.Duration(2*(1+len(keys)/auditSize))
	for chunk := range slices.Chunk(keys, auditSize) {
		gone, err := p.Gone(r.ctx, chunk)
		if err != nil {
			return err // the next read reports it
		}
		if len(gone) > 0 && sourcekit.Sleep(r.ctx, wait) != nil {
			return r.ctx.Err()
		}
		if len(gone) > 0 && !send(r.ctx, r.counts, counted{master: p.index, gone: gone, asked: asked}) {
			return r.ctx.Err()
		}
		if len(keys) > auditSize {
			if err := sourcekit.Sleep(r.ctx, rest); err != nil {
				return err
			}
		}
	}
	return nil
}
