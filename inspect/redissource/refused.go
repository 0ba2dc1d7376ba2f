package redissource

import (
	"slices"
	"time"

	"lockscope/inspect"
)

const (
	// refusedEvery is the interval of trying some of the refused keys again: no server reports that a right was given.
	refusedEvery = 2 * time.Second
	// refusedSample are tried at once, so that a user without rights costs some 8 commands a second;
	// refusedMany, where one of them could be read the last time.
	refusedSample, refusedMany = 4, 200
)

// refused reports whether a master that answers would not report all of a key.
func refused(v inspect.Vote) bool { return len(v.Unseen) > 0 }

// retryRefused has the masters that push read some of their refused keys again; those that are polled come to
// theirs in turn. Of the keys of which nothing but the name is known some are tried whatever reports them:
// nobody reads these otherwise.
func (r *run) retryRefused(now time.Time) {
	if r.cfg.Once || now.Sub(r.refusedAt) < refusedEvery || !slices.ContainsFunc(r.masters, (*masterState).up) {
		return
	}
	n := refusedSample
	if r.readable {
		n = refusedMany
	}
	r.refusedAt, r.readable = now, false
	for _, key := range r.table.refusedKeys(n) {
		for _, p := range r.masters {
			if p.up() && p.pushing && r.table.refusedBy(p.index, key) {
				p.want(key, r.perKey, now)
			}
		}
	}
	for _, key := range r.table.takeDenied(n, now) {
		if !r.table.add(key, now) {
			continue
		}
		r.wantOf(key, now)
		for _, p := range r.masters {
			p.polled = r.pollsOf(p).Spend(p.polled, now, p.Cost(key))
		}
	}
}

// canBeRead reports whether a master reports all of a key that it, or of a key by name alone another, refused
// before. That it is gone is no news of a right.
func (b *keyTable) canBeRead(master int, key string, v inspect.Vote) bool {
	return v.Up && v.Present && !refused(v) && (b.refusedBy(master, key) || b.denied[key])
}

func (b *keyTable) deny(key string) {
	b.denied[key] = true
	if b.deniedKey == "" {
		b.deniedKey = key
	}
}

func (b *keyTable) allow(key string) {
	delete(b.denied, key)
	if key != b.deniedKey {
		return
	}
	b.deniedKey = ""
	for other := range b.denied {
		b.deniedKey = other
		break
	}
}

// refusedBy reports whether a master would not report all of a key when it was last asked.
func (b *keyTable) refusedBy(master int, key string) bool {
	e := b.entries[key]
	if e == nil {
		return false
	}
	at, ok := b.place(key, master)
	return ok && refused(e.votes[at])
}

// refusedKeys are at most n of the keys that a master refuses.
func (b *keyTable) refusedKeys(n int) (keys []string) {
	for key := range b.refused {
		if e := b.entries[key]; e == nil || !slices.ContainsFunc(e.votes, refused) {
			delete(b.refused, key)
			continue
		}
		if len(keys) == n {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// takeDenied has at most n of the keys of which nothing but the name is known looked at before it is their time.
func (b *keyTable) takeDenied(n int, now time.Time) (keys []string) {
	for key := range b.denied {
		if len(keys) == n {
			break
		}
		if b.entries[key] != nil {
			continue // it is being read
		}
		b.foreign[key] = postponed{now, b.foreign[key].wait}
		keys = append(keys, key)
	}
	return keys
}
