package zksource

import (
	"hash/maphash"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// reported identifies the lock that was last reported of a directory: not its contenders, which the
// directory's children give, but enough to see whether they changed.
type reported struct {
	kind       inspect.Kind
	kindSure   recipe.Confidence
	recipe     string
	confidence recipe.Confidence
	limit      int
	contention int32
	watched    bool // the servers' tables of watches can hold something about it
	print      uint64
	readAt     time.Time // of a lock whose changes nothing reports: its age matters; else zero
}

// seed of this process's fingerprints: they are never compared with another's.
var seed = maphash.MakeSeed()

func remember(l *inspect.Lock) *reported {
	var readAt time.Time
	if l.Polled {
		readAt = l.ReadAt
	}
	return &reported{
		readAt: readAt,
		kind:   l.Kind, kindSure: l.KindConfidence, recipe: l.Recipe, confidence: l.Confidence, limit: l.Limit,
		contention: int32(l.Contention()), watched: l.Watched(), print: fingerprint(l),
	}
}

// report remembers the lock, and reports whether it is another than before.
func (d *dir) report(l *inspect.Lock) (changed bool) {
	now := remember(l)
	if d.reported != nil && *d.reported == *now {
		return false
	}
	d.reported = now
	return true
}

// free is the lock with nobody in it, at a directory that had it.
func (d *dir) free(id inspect.ID) *inspect.Lock {
	var was *inspect.Lock
	if t := d.reported; t != nil {
		was = &inspect.Lock{Kind: t.kind, KindConfidence: t.kindSure, Recipe: t.recipe, Confidence: t.confidence, Limit: t.limit}
	}
	return inspect.FreeDirectory(id, was, d.newest())
}

// fingerprint is of all but when a lock was read.
func fingerprint(l *inspect.Lock) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, l.State)
	for _, u := range l.Unseen {
		maphash.WriteComparable(&h, u)
	}
	for _, list := range [2][]inspect.Contender{l.Holders, l.Waiters} {
		maphash.WriteComparable(&h, len(list))
		for i := range list {
			maphash.WriteComparable(&h, list[i])
		}
	}
	printAccess(&h, l)
	for _, alien := range l.Aliens {
		maphash.WriteComparable(&h, alien)
	}
	return h.Sum64()
}
