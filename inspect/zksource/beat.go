package zksource

import (
	"maps"
	"time"

	"lockscope/inspect"
)

const (
	// soonest is the beat of inquiries for short sessions, when there are few.
	soonest = 2500 * time.Millisecond
	few     = 1000
)

// identityBeat returns the pause between two inquiries: at most half of the shortest session timeout, so that a session
// that expires is seen without its client before.
func (r *run) identityBeat() time.Duration {
	return min(r.beats.identity, max(soonest, r.shortest/2))
}

// inquireWithin puts the next inquiry at most so long after the last.
func (r *run) inquireWithin(beat time.Duration) {
	if next := r.askedAt.Add(beat); next.Before(r.askAt) {
		r.askAt = next
	}
}

// shortestTimeout is that of the sessions that have something in a lock: ours has not, nor have those of
// others who only look. With many sessions, or none, it returns a long time: asking so often would be too
// dear, or for nothing.
func (r *run) shortestTimeout(sessions map[int64]inspect.Session) time.Duration {
	shortest, short := 2*r.beats.identity, map[int64]time.Duration{}
	if r.link == nil || len(sessions) > few {
		return shortest
	}
	for id, s := range sessions {
		if s.Timeout > 0 && s.Timeout < shortest {
			short[id] = s.Timeout
		}
	}
	has := func(owner int64) {
		if timeout, ok := short[owner]; ok {
			shortest = timeout
			maps.DeleteFunc(short, func(_ int64, other time.Duration) bool { return other >= shortest })
		}
	}
	for _, d := range r.dirs {
		if len(short) == 0 {
			break
		}
		for _, n := range d.owned {
			has(n.owner)
		}
		if d.self != nil {
			has(d.self.EphemeralOwner)
		}
	}
	return shortest
}

// shorten handles a lock in which a session has something that may have had nothing before.
func (r *run) shorten(l *inspect.Lock) {
	if len(r.sessions) > few {
		return
	}
	for _, list := range [...][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			if s := r.sessions[list[i].Owner.Session]; s.Timeout > 0 && s.Timeout < r.shortest {
				r.shortest = s.Timeout
				r.inquireWithin(r.identityBeat())
			}
		}
	}
}
