package redissource

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

const (
	// refusedEvery is how often some refused keys are tried again, since no server reports that a
	// right was granted.
	refusedEvery = 2 * time.Second
	// refusedSample keys are tried at a time, so that a user without rights costs about 8 commands
	// a second. Once one can be read, refusedMany are tried.
	refusedSample, refusedMany = 4, 200
)

// refused reports whether a running master did not fully report a key.
func refused(v inspect.Vote) bool { return len(v.Unseen) > 0 }

// retryRefused tries some refused keys again. It includes some keys known only by name, which are
// not read otherwise.
func (r *run) retryRefused(now time.Time) {
	if r.cfg.Once || now.Sub(r.refusedAt) < refusedEvery || !slices.ContainsFunc(r.masters, (*masterState).up) {
		return
	}
	n := refusedSample
	if r.readable {
		n = refusedMany
	}
	r.refusedAt, r.readable = now, false
	for _, key := range slices.Concat(r.table.refusedKeys(n), r.table.takeDenied(n, now)) {
		r.wantOf(key, now)
	}
}

// canBeRead reports whether a master now fully reports a key that it refused before, or one known
// only by name. A missing key does not show that a right was granted.
func (b *keyTable) canBeRead(master int, key string, v inspect.Vote) bool {
	return v.Up && v.Present && !refused(v) && (b.refusedBy(master, key) || b.denied[key])
}

func (b *keyTable) deny(key string) {
	b.denied[key] = true
	b.deniedKey = cmp.Or(b.deniedKey, key)
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

// refusedBy reports whether a master's last answer about a key was incomplete.
func (b *keyTable) refusedBy(master int, key string) bool {
	v := b.voteOf(master, key)
	return v != nil && refused(*v)
}

// refusedKeys returns at most n of the keys that a master refuses.
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

// takeDenied adds back at most n keys known only by name, before they are due.
func (b *keyTable) takeDenied(n int, now time.Time) (keys []string) {
	for key := range b.denied {
		if len(keys) == n {
			break
		}
		b.foreign[key] = postponed{now, b.foreign[key].wait}
		if b.add(key, now) {
			keys = append(keys, key)
		}
	}
	return keys
}
