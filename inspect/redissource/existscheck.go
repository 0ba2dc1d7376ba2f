package redissource

import (
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
)

// An idle master that pushes gets hardly any requests. Changes that pushes may miss are found
// slowly, by one EXISTS that counts many keys, and by reading one key in turn.
const (
	auditSize   = 1000 // keys in one EXISTS
	sweepSample = 1    // keys read in full; more would cost an idle master over a command a second
	// auditEvery is how often a master that does not push, and so reports no deletions, is
	// audited.
	auditEvery = 2 * time.Second
)

// auditSweep audits the masters that push.
func (r *run) auditSweep() {
	now := r.cfg.Now()
	maps.DeleteFunc(r.held, func(key string, at time.Time) bool { return !r.dirty[key] && at.Before(now) })
	r.table.sweep(now)
	sample := r.table.choose(sweepSample, func(string) int { return 1 }, nil)
	for _, p := range r.masters {
		maps.DeleteFunc(p.spent, func(_ string, spent time.Time) bool { return spent.Before(now) })
		if p.pushing && p.up() {
			r.audit(p, sample, now)
		}
	}
}

// counted holds the keys that are missing from a master, and other keys to read afterwards.
type counted struct {
	master       int
	gone, others []string
	asked        time.Time
	err          error
}

// counted handles keys that a master no longer has. If it pushes but did not push their end, as
// after SWAPDB, any key may have changed since the last count. Then all keys are read again.
func (r *run) counted(c counted) {
	p := r.masters[c.master]
	p.counting = false
	if p.pushing && slices.ContainsFunc(c.gone, func(key string) bool { return r.endedUnpushed(p, key, c.asked) }) {
		r.table.unwatch(p.index, later(p.countedAt, p.armedAt))
		r.readAll(p)
		p.goOverAgain(r.cfg.Now()) // there may be new keys
	}
	for _, key := range c.gone {
		r.wantOf(key, r.cfg.Now())
	}
	if c.err == nil {
		p.countedAt = c.asked
	}
	for _, key := range c.others {
		p.want(key, r.perKey, r.cfg.Now())
	}
}

// endedUnpushed reports whether a missing key still exists according to the pushes of its master.
func (r *run) endedUnpushed(p *masterState, key string, asked time.Time) bool {
	v := r.table.voteOf(p.index, key)
	return v != nil && !p.wanted[key] && r.asked[key] == 0 && v.Present && v.ReadAt.Before(asked)
}

// audit asks a master which of its expected keys are gone, unless an audit is running. On a
// cluster node, one command cannot ask for keys of several slots.
func (r *run) audit(p *masterState, sample []string, now time.Time) {
	if p.counting {
		return
	}
	var keys []string
	if !p.InCluster() {
		keys = r.present(p, now)
	}
	p.counting, p.auditedAt = true, now
	pushing := p.pushing
	r.tasks.Go(func() {
		gone, err := r.gone(p, keys)
		if len(gone) > 0 && pushing && sourcekit.Sleep(r.ctx, r.cfg.Timeout) != nil { // pushes may be late
			return
		}
		others := slices.Concat(sample, p.Joined(r.ctx))
		send(r.ctx, r.counts, counted{master: p.index, gone: gone, others: others, asked: now, err: err})
	})
}

// present returns the keys that should exist on a master and are not about to expire.
func (r *run) present(p *masterState, now time.Time) []string {
	soon := now.Add(sweepEvery)
	var keys []string
	for key := range r.table.entries {
		v := r.table.voteOf(p.index, key)
		if v == nil || !v.Up || !v.Present || v.Held != nil && v.Held.Auxiliary {
			continue
		}
		if v.ExpiresAt.IsZero() || v.ExpiresAt.After(soon) {
			keys = append(keys, key)
		}
	}
	return keys
}

// gone asks for keys that should all exist, spread over half of sweepEvery, and returns the missing
// ones.
func (r *run) gone(p *masterState, keys []string) (gone []string, err error) {
	rest := sweepEvery / time.Duration(2*(1+len(keys)/auditSize))
	for chunk := range slices.Chunk(keys, auditSize) {
		some, err := p.Gone(r.ctx, chunk)
		if err != nil {
			return gone, err // the next read reports it
		}
		gone = append(gone, some...)
		if len(keys) > auditSize && sourcekit.Sleep(r.ctx, rest) != nil {
			break
		}
	}
	return gone, nil
}
