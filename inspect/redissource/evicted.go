package redissource

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockscope/inspect"
)

// evictions are the keys that a master has deleted since its memory was full: it counts them (evicted_keys of INFO stats), and tells of each
// as of one that somebody deleted.
type evictions struct {
	count     int64
	known     bool      // it told the count when it was asked last
	newAt     time.Time // when the present count was first told; zero before any was
	countedAt time.Time // when it was asked for the present count
	askAfter  time.Time // for a key that is gone
	reported  bool      // its INFO was answered once: by that it evicts, or does not where its limit is not in it
}

// countEvery is the least time until the count is asked for again where no answer came (rearmEvery, where it was refused), and limitFor for
// how long a master that does not evict is believed without one: its limit may be set at any time. One that evicts is asked after each reading
// that misses a key, within the limit on readings: without its count, what was given back would be told as evicted or deleted.
const (
	countEvery = 100 * time.Millisecond
	limitFor   = time.Second
)

// take takes in a count that was asked for at an instant and came at another; known is false where it was not in the answer. One that was
// overtaken by a newer count says nothing.
func (v *evictions) take(count int64, known bool, asked, answered time.Time) {
	if asked.Before(v.countedAt) {
		return
	}
	if v.known = known; !known {
		return
	}
	if v.newAt.IsZero() || count != v.count { // less than before: its counts began anew
		v.count, v.newAt = count, answered
	}
	v.countedAt = asked
}

// mayHave reports whether the master may have evicted something after an instant.
func (v *evictions) mayHave(after time.Time) bool { return !v.known || !v.newAt.Before(after) }

// evicted holds the count after a reading, which is wanted only where a key is gone that the master may have evicted, and known only where
// it was not asked for a moment ago, or refused.
type evicted struct {
	wanted, known, refused bool
	count                  int64
	asked, at              time.Time // zero where it was not asked for
}

// mayEvict reports whether a master may evict by what it told last; one whose INFO was never answered, may.
func (p *masterState) mayEvict() bool { return !p.evictions.reported || p.server.Evicts() }

// evictable are the votes for those of some keys that are there, have not run out, and that the master may delete when its memory is full.
func (r *run) evictable(p *masterState, keys []string, now time.Time) map[string]inspect.Vote {
	if !p.mayEvict() && now.Sub(p.evictions.countedAt) < limitFor {
		return nil
	}
	some := map[string]inspect.Vote{}
	for _, key := range keys {
		e := r.table.entries[key]
		at, ok := r.table.place(key, p.index)
		if e == nil || !ok || !there(&e.votes[at]) || ranOut(e.votes[at], now) || p.server.Evicts() && !p.server.MayEvict(&e.votes[at]) {
			continue
		}
		some[key] = e.votes[at]
	}
	return some
}

func ranOut(v inspect.Vote, now time.Time) bool {
	return !v.ExpiresAt.IsZero() && !v.ExpiresAt.After(now)
}

// countEvicted asks for the count, where it may, if one of the keys that may be evicted is gone, or another's. A server that does not answer
// that in time is found by the next reading: nothing else has to end for it.
func (m *master) countEvicted(ctx context.Context, may bool, rep *report) (c evicted) {
	for i := range rep.votes {
		was, ok := rep.evictable[rep.keys[i]]
		c.wanted = c.wanted || ok && vanished(&was, &rep.votes[i])
	}
	if !c.wanted || !may {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return c
	}
	c.asked = m.now()
	if client, err := m.connect(ctx); err == nil {
		info, err := client.Info(ctx, "stats").Result()
		c.count, c.known = infoNumber(info, "evicted_keys")
		c.refused = !c.known && onlyBroken(err) == nil
	}
	c.at = m.now()
	return c
}

func there(v *inspect.Vote) bool { return v.Present || v.Held != nil }

// replaced reports whether a key that is there was held by somebody who does not hold it now: of several holders one may have come back
// since it went. Those that wait stay when it goes.
func replaced(was, is *inspect.Vote) bool {
	now := holders(is)
	return slices.ContainsFunc(holders(was), func(name string) bool { return !slices.Contains(now, name) })
}

// holders are those of a vote by their names; of a plain key, it is its value.
func holders(v *inspect.Vote) (names []string) {
	switch {
	case v.Held != nil:
		for i := range v.Held.Claims {
			if c := &v.Held.Claims[i]; !c.Waiting {
				names = append(names, c.Name)
			}
		}
	case v.Present:
		names = []string{fmt.Sprintf("%s %x", string(v.Value), v.Digest)}
	}
	return names
}

// vanished reports whether what a key held is there no more: no key is, or another's, or without one of its holders.
func vanished(was, is *inspect.Vote) bool { return is.Up && (!there(is) || replaced(was, is)) }

// markEvicted notes of which keys that are gone the master does not tell whether it evicted them.
func (r *run) markEvicted(p *masterState, rep *report) {
	c := &rep.evicted
	if !c.wanted {
		return
	}
	if !c.at.IsZero() {
		p.reads = r.limitOf(p).spend(p.reads, rep.answered, 1)
		switch {
		case c.refused:
			p.evictions.askAfter = c.at.Add(rearmEvery)
		case !c.known:
			p.evictions.askAfter = c.at.Add(countEvery)
		}
		p.evictions.take(c.count, c.known, c.asked, c.at)
	}
	for i, key := range rep.keys {
		was, ok := rep.evictable[key]
		e := r.table.entries[key]
		if v := &rep.votes[i]; ok && e != nil && vanished(&was, v) {
			at, ok := r.table.place(key, p.index)
			v.Evicted = ok && (c.known && p.evictions.mayHave(e.stoodUntil(at)) || !c.known && p.mayEvict())
		}
	}
}

// keeps reports whether a vote goes on to have a mark by which what was there before was lost: while nothing is there, and until it was told.
func (e *entry) keeps(at int, v *inspect.Vote, mark func(*inspect.Vote) bool) bool {
	old := &e.votes[at]
	if !v.Up || !mark(old) {
		return false
	}
	said := e.lock != nil && slices.ContainsFunc(e.lock.Masters, func(m inspect.Vote) bool { return m.Addr == old.Addr && mark(&m) })
	return !said || !there(v) && !there(old)
}

// change of a key that a master pushed.
type change struct {
	after  time.Time // the key stood until then
	pushed time.Time // when the newest was taken in
}

// pushedAfter notes that a master pushed a change of a key, after an instant.
func (b *keyTable) pushedAfter(master int, key string, after, now time.Time) {
	e := b.entries[key]
	if e == nil {
		return
	}
	at, ok := b.place(key, master)
	if !ok {
		return
	}
	c, before := e.changed[at]
	if !before {
		c.after = after
	}
	if e.changed == nil {
		e.changed = map[int]change{}
	}
	c.pushed = now
	e.changed[at] = c
}

// wasRead drops the change that was pushed, unless the reading may be from before it.
func (e *entry) wasRead(at int) {
	if !e.soughtAt[at].Before(e.changed[at].pushed) {
		delete(e.changed, at)
	}
}

// stoodUntil is the newest instant at which a key of a master is known not to have changed since it was read.
func (e *entry) stoodUntil(at int) time.Time {
	if e.unwatched[at] {
		return e.soughtAt[at]
	}
	return later(e.soughtAt[at], e.changed[at].after)
}
