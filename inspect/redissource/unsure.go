package redissource

import (
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
)

// How a key went away is unknown if its master evicts keys, was flushed, or did not push the
// deletion. No server reports the cause.

// mayHaveEvicted reports whether a key is gone or replaced on a master that evicts keys, or whose
// INFO was never answered.
func (r *run) mayHaveEvicted(p *masterState, key string, is *inspect.Vote) bool {
	was := r.table.voteOf(p.index, key)
	return was != nil && vanished(was, is) && (!p.reported || p.server.MayEvict(was))
}

func there(v *inspect.Vote) bool { return v.Present || v.Held != nil }

// vanished reports whether a key or one of its holders is gone.
func vanished(was, is *inspect.Vote) bool {
	return there(was) && is.Up && (!there(is) || replaced(was, is))
}

// replaced reports whether a holder of a key no longer holds it. Waiters may stay.
func replaced(was, is *inspect.Vote) bool {
	now := holders(is)
	return slices.ContainsFunc(holders(was), func(name string) bool { return !slices.Contains(now, name) })
}

// holders returns the names of a vote's holders; for a plain key, its value.
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

// staysUnsure reports whether a vote stays unsure. It does until the key has a value and the lock
// has been emitted with the vote marked unsure.
func (e *entry) staysUnsure(at int, v *inspect.Vote) bool {
	old := &e.votes[at]
	if !v.Up || !old.Unsure {
		return false
	}
	marked := func(m inspect.Vote) bool { return m.Addr == old.Addr && m.Unsure }
	emitted := e.lock != nil && slices.ContainsFunc(e.lock.Masters, marked)
	return !emitted || !there(v) && !there(old)
}
