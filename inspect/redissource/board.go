package redissource

import (
	"slices"
	"strings"
	"time"

	"lockscope/inspect"
)

// jitter is how far a computed expiry may move without being a change: round trips vary, and TTLs are in milliseconds.
const jitter = 50 * time.Millisecond

// unread is the error of a vote that was not asked for yet.
const unread = "not read yet"

// board holds what every master last said of every known key. It does no I/O and knows no clock: the time is passed in.
type board struct {
	backend string
	addrs   []string
	only    string
	once    bool
	entries map[string]*entry
	// ring is the order in which keys are read in turn, at next; forgotten keys are dropped when it comes to them.
	ring []string
	next int
	// foreign are keys that turned out to be no locks, and when to look again.
	foreign map[string]time.Time
	// denied are those of them that our user may not read.
	denied map[string]bool
}

// entry is one key.
type entry struct {
	key   string
	votes []inspect.Vote
	// lock is what was last emitted; nil while the key was never seen to be a lock.
	lock      *inspect.Lock
	read      bool // at least once
	freeSince time.Time
}

func newBoard(cfg Config) *board {
	b := &board{
		backend: cfg.Backend, only: cfg.Only, once: cfg.Once,
		entries: map[string]*entry{}, foreign: map[string]time.Time{}, denied: map[string]bool{},
	}
	for i := range cfg.Masters {
		b.addrs = append(b.addrs, cfg.addr(i))
	}
	if cfg.Only != "" {
		b.add(cfg.Only, time.Time{})
	}
	return b
}

// add makes a key known; false when it is already, or was found to be no lock a moment ago.
func (b *board) add(key string, now time.Time) bool {
	if b.entries[key] != nil || now.Before(b.foreign[key]) {
		return false
	}
	delete(b.foreign, key)
	delete(b.denied, key)
	e := &entry{key: key, votes: make([]inspect.Vote, len(b.addrs))}
	for i, addr := range b.addrs {
		e.votes[i] = inspect.Vote{Addr: addr, Error: unread}
	}
	b.entries[key] = e
	b.ring = append(b.ring, key)
	return true
}

// choose picks at most limit keys to read: those never read, those in focus, those that should have run out by now,
// and then the others in turn.
func (b *board) choose(limit int, focus map[string]bool, now time.Time) []string {
	chosen := make([]string, 0, min(limit, len(b.entries)))
	taken := make(map[string]bool, cap(chosen))
	take := func(key string) {
		if len(chosen) < limit && !taken[key] && b.entries[key] != nil {
			taken[key] = true
			chosen = append(chosen, key)
		}
	}
	for key := range focus {
		take(key)
	}
	if len(b.entries) > limit {
		for key, e := range b.entries {
			if !e.read || e.due(now) {
				take(key)
			}
		}
	}
	for range len(b.ring) {
		if len(chosen) >= limit {
			break
		}
		if b.next >= len(b.ring) {
			b.next = 0
		}
		key := b.ring[b.next]
		if b.entries[key] == nil {
			b.ring = slices.Delete(b.ring, b.next, b.next+1)
			continue
		}
		take(key)
		b.next++
	}
	return chosen
}

// due says that a vote has run out since it was read.
func (e *entry) due(now time.Time) bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool {
		return v.Up && !v.ExpiresAt.IsZero() && v.ExpiresAt.Before(now)
	})
}

// vote records what a master says of a key. An expiry that only jittered keeps its old instant.
func (b *board) vote(master int, key string, v inspect.Vote) {
	e := b.entries[key]
	if e == nil {
		return
	}
	e.read = true
	old := &e.votes[master]
	if moved := v.ExpiresAt.Sub(old.ExpiresAt); v.Value == old.Value && v.Digest == old.Digest &&
		!v.ExpiresAt.IsZero() && !old.ExpiresAt.IsZero() && moved.Abs() < jitter {
		v.ExpiresAt = old.ExpiresAt
	}
	*old = v
}

// silence records that a master does not answer, for every key.
func (b *board) silence(master int, err error) {
	v := downVote(b.addrs[master], err)
	for _, e := range b.entries {
		e.votes[master] = v
	}
}

// judge makes the lock of a key of its votes: the lock when it changed, gone when it is to be listed no more.
func (b *board) judge(key string, now time.Time) (changed *inspect.Lock, gone bool) {
	e := b.entries[key]
	if e == nil || e.unread() {
		return nil, false
	}
	named := key == b.only
	if e.lock == nil && !named && !e.isLock() {
		b.forget(e, now)
		return nil, false
	}
	lock := inspect.KeyLock(inspect.ID{Backend: b.backend, Path: key}, e.votes, now)
	if lock.State != inspect.StateFree {
		e.freeSince = time.Time{}
	} else if e.freeSince.IsZero() {
		e.freeSince = now
	} else if !named && now.Sub(e.freeSince) >= freeFor {
		delete(b.entries, key)
		return nil, e.lock != nil
	}
	if e.lock != nil && sameVotes(e.lock.Masters, lock.Masters) {
		return nil, false
	}
	e.lock = lock
	return lock, false
}

// unread says that a master was not asked yet. One that does not answer is known as down before long.
func (e *entry) unread() bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Error == unread })
}

// isLock says that at least one master holds a string under the key.
func (e *entry) isLock() bool {
	return slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Present && !v.Foreign })
}

// forget drops a key that is no lock. One that holds something else, or that may not be read, is not looked at again
// for a while; one that is merely absent, or whose master did not answer, may
// come back at any time.
func (b *board) forget(e *entry, now time.Time) {
	delete(b.entries, e.key)
	denied := slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return !v.Up && strings.HasPrefix(v.Error, "NOPERM") })
	if denied {
		b.denied[e.key] = true
	}
	if denied || slices.ContainsFunc(e.votes, func(v inspect.Vote) bool { return v.Foreign }) {
		b.foreign[e.key] = now.Add(foreignFor)
	}
}

// sameVotes compares all but who agrees, which follows from the rest.
func sameVotes(a, b []inspect.Vote) bool {
	return slices.EqualFunc(a, b, func(x, y inspect.Vote) bool {
		x.Agrees, y.Agrees = false, false
		return x.ExpiresAt.Equal(y.ExpiresAt) && eraseExpiry(x) == eraseExpiry(y)
	})
}

func eraseExpiry(v inspect.Vote) inspect.Vote {
	v.ExpiresAt = time.Time{}
	return v
}
