package redissource

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// At rest a master that pushes is hardly asked anything. What a push cannot be trusted with is caught by a net, cast at
// a slow beat: one EXISTS for many keys at once, which counts those that are there, and one key in turn read in full.
const (
	auditSize   = 1000 // keys in one EXISTS
	sweepSample = 1    // keys read in full: with more a master at rest gets more than a command a second
	fewKeys     = 8    // are counted one by one rather than by halves
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
		if p.sample = sample; !r.audit(p, now) { // they are read after it: what it finds says how their changes are dated
			r.counted(counted{master: p.index, last: true, err: errNotCounted})
		}
		if channels := p.typed.watched(); len(channels) > 0 {
			r.tasks.Go(func() { send(r.ctx, r.audited, p.joined(r.ctx, channels)) })
		}
	}
}

// errNotCounted is the error of a count that was not begun.
var errNotCounted = errors.New("not counted")

// audit has a master count the keys that should be there, unless it is still at it; it reports whether that was begun.
func (r *run) audit(p *masterState, now time.Time) bool {
	if p.keys != nil {
		return false // one command cannot count the keys of several slots
	}
	keys := r.present(p, now)
	if len(keys) == 0 || p.counting.Swap(true) {
		return false
	}
	p.auditedAt = now
	r.tasks.Go(func() {
		err := r.count(p, keys, now)
		p.counting.Store(false)
		send(r.ctx, r.counts, counted{master: p.index, asked: now, answered: r.cfg.Now(), err: err, last: true})
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
func (r *run) count(p *masterState, keys []string, asked time.Time) error {
	rest := sweepEvery / time.Duration(2*(1+len(keys)/auditSize))
	for chunk := range slices.Chunk(keys, auditSize) {
		gone, err := p.gone(r.ctx, chunk)
		if err != nil {
			return err // the next read reports it
		}
		if len(gone) > 0 && !send(r.ctx, r.counts, counted{master: p.index, gone: gone, asked: asked, answered: r.cfg.Now()}) {
			return r.ctx.Err()
		}
		if len(keys) > auditSize {
			if err := sleep(r.ctx, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// gone are the keys that are not there: halves are counted until few are left.
func (m *master) gone(ctx context.Context, keys []string) ([]string, error) {
	n, err := m.exist(ctx, keys)
	if err != nil || n == int64(len(keys)) {
		return nil, err
	}
	if n == 0 {
		return keys, nil
	}
	if len(keys) <= fewKeys {
		return m.goneOf(ctx, keys)
	}
	first, err := m.gone(ctx, keys[:len(keys)/2])
	if err != nil {
		return nil, err
	}
	second, err := m.gone(ctx, keys[len(keys)/2:])
	return append(first, second...), err
}

// goneOf asks for each of a few keys.
func (m *master) goneOf(ctx context.Context, keys []string) (gone []string, err error) {
	there := make([]*redis.IntCmd, len(keys))
	err = m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				there[i] = p.Exists(ctx, key)
			}
			return nil
		})
		return m.serverError(err, cmds)
	})
	for i, key := range keys {
		if err == nil && there[i].Err() == nil && there[i].Val() == 0 {
			gone = append(gone, key)
		}
	}
	return gone, err
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
