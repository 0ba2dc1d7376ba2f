package redissource

import (
	"time"

	"lockscope/inspect"
)

// flushedFor is the time after a flush in which a key that is gone, and was not reported by its name, is taken for flushed: so long
// may it take to read all of them again.
const flushedFor = 10 * time.Second

// flushing of a database, which a master reported while a key was there. named: it reported a change of the key by its name, too.
type flushing struct {
	at    time.Time
	named bool
}

// flush notes that a master has deleted all keys of one of its databases, or of all: it does not say which. Keys that it reported by
// their names as well were changed by somebody.
func (b *keyTable) flush(master int, named map[string]bool, now time.Time) {
	for key, e := range b.entries {
		at, ok := b.place(key, master)
		if !ok || !e.votes[at].Present {
			continue
		}
		if e.flushedAt == nil {
			e.flushedAt = map[int]flushing{}
		}
		e.flushedAt[at] = flushing{now, named[key]}
	}
}

// reportedByName notes that a master reported a change of a key: that it is not there now, no flush did.
func (b *keyTable) reportedByName(master int, key string) {
	if e := b.entries[key]; e != nil {
		if at, ok := b.place(key, master); ok && !e.flushedAt[at].at.IsZero() {
			e.flushedAt[at] = flushing{e.flushedAt[at].at, true}
		}
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

// markFlushed notes whether a key is not on a master any more because of a flush. One that is another's by the first reading after it may have
// been flushed, or given up where the flush was of another database: it was deleted, and no more is known. What comes after that reading, no
// flush before it did.
func (e *entry) markFlushed(at int, v *inspect.Vote, now time.Time) {
	f, ok := e.flushedAt[at]
	if !ok || !v.Up {
		return
	}
	if old := &e.votes[at]; old.Present && now.After(f.at) && now.Sub(f.at) <= flushedFor {
		v.Flushed = !v.Present && !f.named
		v.Evicted = v.Evicted || v.Present && replaced(old, v)
	}
	if e.soughtAt[at].After(f.at) {
		delete(e.flushedAt, at)
	}
}
