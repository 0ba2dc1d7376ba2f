package zksource

import (
	"time"

	"lockscope/inspect"
)

// The servers are asked who is connected so often that nothing that a session's end shows is missed, and seldom while there is nothing
// to be seen: no lock changes, nobody looks at one, the sessions are those of before, and the servers are well.

const (
	// soonest is the beat for short sessions, when there are few.
	soonest = 2500 * time.Millisecond
	few     = 1000
	// restAfter a disturbance all that were connected are back, or their sessions have ended: servers grant 40 s unless configured otherwise.
	restAfter = time.Minute
)

// identityBeat returns the pause between two inquiries: at most half of the shortest session timeout, so that a session
// that expires is seen without its client before.
func (r *run) identityBeat() time.Duration {
	if r.link != nil && r.link.readOnly {
		return soonest // a quorum may be back
	}
	most := r.beats.identity
	if r.resting && r.ready && len(r.focus) == 0 {
		most = r.beats.rest
	}
	return min(most, max(soonest, r.shortest/2))
}

// shortestTimeout leaves out our own session. With many sessions, or none, it returns a long time: asking so often would
// be too dear, or for nothing.
func (r *run) shortestTimeout(sessions map[int64]inspect.Session) time.Duration {
	if len(sessions) > few {
		return 2 * r.beats.identity
	}
	shortest := 2 * r.beats.rest
	if r.link == nil {
		return shortest
	}
	ours, _, _ := r.link.tap.Lease()
	for id, s := range sessions {
		if id != ours && s.Timeout > 0 {
			shortest = min(shortest, s.Timeout)
		}
	}
	return shortest
}

// happened ends the rest: what came may be of a session that is not known, and what is looked at is to be shown as it is. The next
// inquiry is one usual beat after the last, at once when that is longer ago.
func (r *run) happened() {
	r.resting = false
	r.inquireWithin(r.identityBeat())
}

// inquireWithin puts the next inquiry at most so long after the last.
func (r *run) inquireWithin(beat time.Duration) {
	if next := r.askedAt.Add(beat); next.Before(r.askAt) {
		r.askAt = next
	}
}

// mayRest reports whether an inquiry found everything as the one before did, and nobody about to go: a session that is missed, or was
// silent for half of its timeout (clients send something every third), is asked for again soon, since two tables show more than one.
func (r *run) mayRest(who *identity) bool {
	if !r.identified || len(who.sessions) != len(r.sessions) || r.cfg.Now().Sub(r.disturbedAt) < restAfter {
		return false
	}
	for id, s := range who.sessions {
		if _, known := r.sessions[id]; !known {
			return false
		}
		if s.Timeout > 0 && !s.LastContact.IsZero() && who.sessionsAt.Sub(s.LastContact) > s.Timeout/2 {
			return false
		}
	}
	for i := range who.servers {
		a, before := &who.servers[i], &r.answers[i]
		if a.asked && (!a.serves() || a.lag > 0 || a.nodesApart != 0) || a.asked != before.asked || a.status.Role != before.status.Role || a.epoch() != before.epoch() {
			return false
		}
	}
	return true
}
