package zksource

import (
	"maps"
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

// rest has what decides how often the servers are asked: of the newest inquiry, and since it only shortest, which a new contender lowers.
type rest struct {
	resting      bool                      // the newest answers show that nothing happens
	shortest     time.Duration             // timeout of the sessions that have something in a lock
	sessions     map[int64]inspect.Session // of the newest answers
	reporting    int                       // how many servers reported them
	allReporting bool                      // those are all that there are
	wholeAt      time.Time                 // when more than the sessions was asked for
}

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

// shortestTimeout is that of the sessions which have something in a lock: ours has not, nor those of others who only look, as often as
// we do. With many sessions, or none, it returns a long time: asking so often would be too dear, or for nothing.
func (r *run) shortestTimeout(sessions map[int64]inspect.Session) time.Duration {
	if len(sessions) > few {
		return 2 * r.beats.identity
	}
	shortest, short := 2*r.beats.rest, map[int64]time.Duration{}
	if r.link == nil {
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
	if !r.identified || !r.sameSessions(who) || who.someIsSilent() || r.cfg.Now().Sub(r.disturbedAt) < restAfter {
		return false
	}
	for i := range who.servers {
		a, before := &who.servers[i], &r.answers[i]
		if a.asked && (!a.serves() || a.lag > 0 || a.nodesApart != 0) || a.asked != before.asked || a.status.Role != before.status.Role || a.epoch() != before.epoch() {
			return false
		}
	}
	return true
}

// sameSessions reports whether the sessions are those of before.
func (r *run) sameSessions(who *identity) bool {
	for id := range who.sessions {
		if _, known := r.sessions[id]; !known {
			return false
		}
	}
	return len(who.sessions) == len(r.sessions)
}

// someIsSilent reports whether a session is about to go.
func (who *identity) someIsSilent() bool {
	for _, s := range who.sessions {
		if s.Timeout > 0 && !s.LastContact.IsZero() && who.sessionsAt.Sub(s.LastContact) > s.Timeout/2 {
			return true
		}
	}
	return false
}

// sessionsSuffice reports whether an inquiry may ask for the sessions alone: while nothing happens it is their end that is not to be
// missed, and the servers' own state was asked for not long ago.
func (r *run) sessionsSuffice(now time.Time) bool {
	return r.resting && r.ready && len(r.focus) == 0 && now.Sub(r.wholeAt) < r.beats.rest
}

// identifyBriefly takes in the sessions alone. Where they are not as before, all is asked for at once, and they are not reported: what has
// become of one that is missed shows only beside the state of the servers, which may have sent its client to another. One that is silent
// is reported silent, since it may end before all is told.
func (r *run) identifyBriefly(who *identity) {
	same := who.reporting == r.reporting && r.sameSessions(who)
	if same {
		r.sessions = who.sessions
		r.extra.Sessions, r.extra.AllSessions, r.extra.SessionsAt = who.sessions, r.allReporting, who.sessionsAt.Round(0)
		r.inquireWithin(r.identityBeat())
	}
	if !same || who.someIsSilent() {
		r.resting, r.askAt = false, r.cfg.Now()
	}
}

// shorten takes in a lock in which a session has something that may have had nothing before.
func (r *run) shorten(l *inspect.Lock) {
	if len(r.sessions) > few {
		return
	}
	for _, list := range [...][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			if s := r.sessions[list[i].Owner.Session]; s.Timeout > 0 {
				r.shortest = min(r.shortest, s.Timeout)
			}
		}
	}
}
