package redissource

import (
	"time"

	"lockscope/inspect"
)

// flushedFor is the time after a flush in which a key that is gone, and was not reported by its name, is taken for flushed: so long
// may it take to read all of them again.
const flushedFor = 10 * time.Second

// flush notes that a master has deleted all keys of one of its databases, or of all: it does not say which. Keys that it reported by
// their names as well were changed by somebody.
func (b *keyTable) flush(master int, named map[string]bool, now time.Time) {
	for key, e := range b.entries {
		at, ok := b.place(key, master)
		if !ok || !e.votes[at].Present || named[key] {
			continue
		}
		if e.flushedAt == nil {
			e.flushedAt = map[int]time.Time{}
		}
		e.flushedAt[at] = now
	}
}

// reportedByName notes that a master reported a change of a key: what it finds there now, no flush did.
func (b *keyTable) reportedByName(master int, key string) {
	if e := b.entries[key]; e != nil {
		if at, ok := b.place(key, master); ok {
			delete(e.flushedAt, at)
		}
	}
}

// wasFlushed reports whether a key is not on a master any more because of a flush.
func (e *entry) wasFlushed(at int, v inspect.Vote, now time.Time) bool {
	if !v.Up || v.Present {
		return false
	}
	flushed, ok := e.flushedAt[at]
	return e.votes[at].Flushed || e.votes[at].Present && ok && now.Sub(flushed) <= flushedFor
}
