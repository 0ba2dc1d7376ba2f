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

// sought notes when a vote was asked for. Where the key stands as it was, what was flushed before that was another database.
func (b *keyTable) sought(master int, key string, v *inspect.Vote, asked time.Time) {
	e := b.entries[key]
	at, ok := b.place(key, master)
	if e == nil || !ok {
		return
	}
	e.soughtAt[at] = asked
	if f, ok := e.flushedAt[at]; ok && v.Up && there(v) && !replaced(&e.votes[at], v) && asked.After(f.at) {
		delete(e.flushedAt, at)
	}
}

// wasFlushed reports whether a key is not on a master any more because of a flush, or is another's right after one.
func (e *entry) wasFlushed(at int, v *inspect.Vote, now time.Time) bool {
	old := &e.votes[at]
	f, ok := e.flushedAt[at]
	if !v.Up || !ok || !old.Present || now.Sub(f.at) > flushedFor {
		return false
	}
	return !v.Present && !f.named || v.Present && replaced(old, v)
}
