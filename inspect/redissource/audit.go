package redissource

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// At rest a master that pushes is hardly asked anything. What a push cannot be trusted with is caught by a net, cast at
// a slow beat: one EXISTS for many keys at once, which counts those that are there, and a few keys read in full.
const (
	auditSize   = 1000 // keys in one EXISTS
	sweepSample = 2    // keys read in full
	fewKeys     = 8    // are read rather than counted by halves
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
		for _, key := range sample {
			p.want(key, r.perKey, now)
		}
		r.audit(p, now)
		if channels := p.typed.watched(); len(channels) > 0 {
			r.tasks.Go(func() { send(r.ctx, r.audited, p.joined(r.ctx, channels)) })
		}
	}
}

// audit has a master count the keys that should be there, unless it is still at it.
func (r *run) audit(p *masterState, now time.Time) {
	if p.keys != nil {
		return // one command cannot count the keys of several slots
	}
	keys := r.present(p, now)
	if len(keys) == 0 || p.counting.Swap(true) {
		return
	}
	p.auditedAt = now
	r.tasks.Go(func() {
		defer p.counting.Store(false)
		r.count(p, keys)
	})
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
func (r *run) count(p *masterState, keys []string) {
	rest := sweepEvery / time.Duration(2*(1+len(keys)/auditSize))
	for chunk := range slices.Chunk(keys, auditSize) {
		gone, err := p.gone(r.ctx, chunk)
		if err != nil || len(gone) > 0 && !send(r.ctx, r.audited, gone) {
			return // the next read reports it
		}
		if len(keys) > auditSize && sleep(r.ctx, rest) != nil {
			return
		}
	}
}

// gone are the keys that are not there, and some that stand beside them: halves are counted until few are left.
func (m *master) gone(ctx context.Context, keys []string) ([]string, error) {
	n, err := m.exist(ctx, keys)
	if err != nil || n == int64(len(keys)) {
		return nil, err
	}
	if n == 0 || len(keys) <= fewKeys {
		return keys, nil
	}
	first, err := m.gone(ctx, keys[:len(keys)/2])
	if err != nil {
		return nil, err
	}
	second, err := m.gone(ctx, keys[len(keys)/2:])
	return append(first, second...), err
}

// exist counts how many of the keys there are.
func (m *master) exist(ctx context.Context, keys []string) (int64, error) {
	var n int64
	err := m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) (err error) {
		n, err = c.Exists(ctx, keys...).Result()
		return err
	})
	return n, err
}

// joined asks for the subscribers of channels, which nobody pushes, and returns the locks where their number changed.
func (m *master) joined(ctx context.Context, channels map[string]subscribed) []string {
	names := slices.Sorted(maps.Keys(channels))
	var counted subscribers
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			counted = m.requestSubscribers(ctx, p, names)
			return nil
		})
		return onlyBroken(err)
	})
	if err != nil {
		return nil // the next read reports it
	}
	var locks []string
	for channel, v := range m.counts(names, counted) {
		if was := channels[channel]; !v.Unknown && v.Subscribers != was.count {
			locks = append(locks, was.lock)
		}
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}
