package redissource

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
)

// evictions are the keys that a master has deleted since its memory was full: it counts them (evicted_keys of INFO stats), and tells of each
// as of one that somebody deleted.
type evictions struct {
	count int64
	known bool      // it told the count when it was asked last
	newAt time.Time // when the present count was first told, or could not be asked for
}

// take takes in a count; known is false where it was not told.
func (v *evictions) take(count int64, known bool, at time.Time) {
	if !known || !v.known || count != v.count { // less than before: its counts began anew
		*v = evictions{count: count, known: known, newAt: at}
	}
}

// mayHave reports whether the master may have evicted something after an instant.
func (v *evictions) mayHave(after time.Time) bool { return !v.known || v.newAt.After(after) }

// evicted holds the count after a reading; it was asked for only where a key is gone that the master may have evicted.
type evicted struct {
	asked, known bool
	count        int64
}

// evictable are those of some keys that are there, have not run out, and that the master deletes when its memory is full; nil for none.
func (r *run) evictable(p *masterState, keys []string, now time.Time) map[string]bool {
	if !p.server.Evicts() {
		return nil
	}
	some := map[string]bool{}
	for _, key := range keys {
		if e := r.table.entries[key]; e != nil {
			if at, ok := r.table.place(key, p.index); ok && p.server.MayEvict(&e.votes[at]) && !ranOut(e.votes[at], now) {
				some[key] = true
			}
		}
	}
	return some
}

func ranOut(v inspect.Vote, now time.Time) bool {
	return !v.ExpiresAt.IsZero() && !v.ExpiresAt.After(now)
}

// countEvicted asks for the count where one of the keys that may be evicted is gone.
func (m *master) countEvicted(ctx context.Context, evictable map[string]bool, keys []string, votes []inspect.Vote) (c evicted) {
	for i, v := range votes {
		c.asked = c.asked || evictable[keys[i]] && v.Up && !there(&v)
	}
	if !c.asked {
		return c
	}
	_ = m.do(ctx, func(ctx context.Context, client redis.UniversalClient) error {
		info, err := client.Info(ctx, "stats").Result()
		c.count, c.known = infoNumber(info, "evicted_keys")
		return onlyBroken(err)
	})
	return c
}

func there(v *inspect.Vote) bool { return v.Present || v.Held != nil }

// markEvicted notes of which keys that are gone the master does not tell whether it evicted them.
func (r *run) markEvicted(p *masterState, rep *report) {
	if !rep.evicted.asked {
		return
	}
	p.evictions.take(rep.evicted.count, rep.evicted.known, rep.answered)
	for i, key := range rep.keys {
		e := r.table.entries[key]
		if v := &rep.votes[i]; e != nil && rep.evictable[key] && v.Up && !there(v) {
			at, ok := r.table.place(key, p.index)
			v.Evicted = ok && p.evictions.mayHave(e.stoodUntil(at))
		}
	}
}

// pushedAfter notes that a master pushed a change of a key, after an instant.
func (b *keyTable) pushedAfter(master int, key string, after time.Time) {
	if e := b.entries[key]; e != nil {
		if at, ok := b.place(key, master); ok && e.changed[at].IsZero() {
			if e.changed == nil {
				e.changed = map[int]time.Time{}
			}
			e.changed[at] = after
		}
	}
}

// stoodUntil is the newest instant at which a key of a master is known not to have changed since it was read.
func (e *entry) stoodUntil(at int) time.Time {
	if e.unwatched[at] {
		return e.votes[at].ReadAt
	}
	return later(e.votes[at].ReadAt, e.changed[at])
}
