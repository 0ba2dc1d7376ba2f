package redissource

import (
	"time"

	"lockscope/inspect"
)

const (
	// refusedEvery is the interval of trying some of the refused keys again: no server reports that a right was given.
	refusedEvery = 2 * time.Second
	// refusedSample are tried at once, so that a user without rights costs some 8 commands a second. All are, once one of them can be read.
	refusedSample = 4
)

// refused reports whether a master that answers would not report all of a key.
func refused(v inspect.Vote) bool { return len(v.Unseen) > 0 }

// retryRefused has the masters that push read some of their refused keys again; those that are polled come to theirs in turn. Of the
// keys of which nothing but the name is known some are tried whatever reports them: nobody reads these otherwise.
func (r *run) retryRefused(now time.Time) {
	if r.cfg.Once || now.Sub(r.refusedAt) < refusedEvery {
		return
	}
	r.refusedAt = now
	for _, p := range r.masters {
		if p.up() && p.pushing {
			for _, key := range r.table.refusedOn(p.index, refusedSample) {
				p.want(key, r.perKey, now)
			}
		}
	}
	keys := r.table.takeDenied(refusedSample, now)
	r.admit(keys, now)
	for _, p := range r.masters {
		for _, key := range keys {
			p.polled = r.pollsOf(p).spend(p.polled, now, p.typed.cost(key))
		}
	}
}

// readable has everything that was refused read again: one of it can be read now.
func (r *run) readable(now time.Time) {
	for _, p := range r.masters {
		if p.up() {
			for _, key := range r.table.refusedOn(p.index, len(r.table.refused)) {
				p.want(key, r.perKey, now)
			}
		}
	}
	r.admit(r.table.takeDenied(len(r.table.denied), now), now)
}

// admit has keys read that nobody saw come.
func (r *run) admit(keys []string, now time.Time) {
	for _, key := range keys {
		if r.table.add(key, now) {
			r.wantOf(key, now)
		}
	}
}

// wasRefused reports whether a master would not report all of a key when it was last asked, or any before.
func (b *keyTable) wasRefused(master int, key string) bool {
	e := b.entries[key]
	if e == nil {
		return false
	}
	at, ok := b.place(key, master)
	return ok && (refused(e.votes[at]) || b.denied[key])
}

// refusedOn are at most n of the keys that a master refuses.
func (b *keyTable) refusedOn(master, n int) (keys []string) {
	for key := range b.refused {
		e := b.entries[key]
		if e == nil {
			delete(b.refused, key)
			continue
		}
		if len(keys) >= n {
			break
		}
		if at, ok := b.place(key, master); ok && refused(e.votes[at]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// takeDenied has at most n of the keys of which nothing but the name is known looked at before it is their time.
func (b *keyTable) takeDenied(n int, now time.Time) (keys []string) {
	for key := range b.denied {
		if len(keys) >= n {
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
