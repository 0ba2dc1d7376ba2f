package redissource

import (
	"time"

	"lockscope/inspect"
)

// flushedFor is the time after a flush in which a key that is gone, and was not reported by its name, is taken for flushed: so long
// may it take to read all of them again.
const flushedFor = 10 * time.Second

// flush notes that a master has deleted all keys of one of its databases, or of all: it does not say which.
func (b *keyTable) flush(master int, now time.Time) {
	for key, e := range b.entries {
		at, ok := b.place(key, master)
		if !ok || !e.votes[at].Present {
			continue
		}
		if e.flushedAt == nil {
			e.flushedAt = map[int]time.Time{}
		}
		e.flushedAt[at] = now
	}
}

// sought notes when a vote was asked for.
func (b *keyTable) sought(master int, key string, asked time.Time) {
	if e := b.entries[key]; e != nil {
		if at, ok := b.place(key, master); ok {
			e.soughtAt[at] = asked
		}
	}
}

// markFlushed notes whether a key is not on a master any more because of a flush, by the first reading after it. One of which a change was
// reported as well, or may not have been, and one that is another's by then, may have been flushed, or given up where the flush was of another
// database: it was deleted, and no more is known. What comes after that reading, no flush before it did. Answers and pushes come over two
// connections: what was answered a moment before the flush was reported may be from after it.
func (e *entry) markFlushed(at int, v *inspect.Vote, now time.Time) {
	flushed, ok := e.flushedAt[at]
	if !ok || !v.Up {
		return
	}
	if old, since := &e.votes[at], now.Sub(flushed); old.Present && -grace < since && since <= flushedFor {
		v.Flushed = !v.Present && !e.mayHaveChanged(at)
		v.Evicted = v.Evicted || !v.Present && !v.Flushed || v.Present && replaced(old, v)
	}
	if e.soughtAt[at].After(flushed) {
		delete(e.flushedAt, at)
	}
}

// mayHaveChanged reports whether a master pushed a change of the key that was not read yet, or may not have.
func (e *entry) mayHaveChanged(at int) bool {
	_, pushed := e.changed[at]
	return pushed || e.unwatched[at]
}
