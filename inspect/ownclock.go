package inspect

import (
	"maps"
	"slices"
	"time"

	"lockscope/inspect/internal/stall"
)

// clockSet is that our own clock was set: found at an instant that it shows since, ahead by so much (below zero: back). By 0 is that
// the machine was suspended: the monotonic clock stood still, and the wall clock is right.
type clockSet struct {
	now time.Time
	by  time.Duration
}

// shows is an earlier instant as our clock would have shown it, had it been set before, or had its monotonic part gone on. Ages come
// out the same by both of the parts of a time then, the wall clock's and the monotonic one.
func (s clockSet) shows(t time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t == t.Round(0): // it has the wall clock's alone
		return t.Add(s.by)
	}
	return s.now.Add(t.Round(0).Add(s.by).Sub(s.now.Round(0)))
}

// noticeClock takes in that our own clock was set since the last look at it: what was seen was seen as long ago as before, and the
// servers' clocks are as far from where it was, until the sources have measured that anew. While the machine was suspended the
// servers' clocks and ours went on: what was seen was seen longer ago by that.
func (o *Observer) noticeClock(now time.Time) {
	set, slept := clockSet{now: now, by: stall.SetAhead(o.turned, now)}, stall.Slept(o.turned, now)
	if o.turned = now; set.by == 0 && slept == 0 {
		return
	}
	offset := make(map[string]time.Duration) // by how much that of each backend changes
	for _, p := range o.backends {
		offset[p.name] = p.shift(set)
		o.diagnoseBackend(p, now)
	}
	o.dirty = true
	for id, h := range o.hidden {
		h.since = set.shows(h.since)
		h.Lock = h.Lock.shifted(set, offset[id.Backend])
		o.hidden[id] = h
	}
	for _, t := range o.tracks {
		t.view.Since = set.shows(t.view.Since)
	}
	for l := range o.locks.all() {
		o.locks.put(l.shifted(set, offset[l.ID.Backend]))
		o.changed[l.ID] = struct{}{}
	}
}

// shift moves what a backend's knowledge has from our own clock, and returns by how much the backend's clock is further ahead of it.
func (p *backendState) shift(set clockSet) (offset time.Duration) {
	for _, t := range []*time.Time{&p.since, &p.sessionsAt, &p.sessionsIn, &p.formerAt, &p.formerIn, &p.blindFrom, &p.blindUntil, &p.blindReported} {
		*t = set.shows(*t)
	}
	p.sessions, p.former, p.away = set.heard(p.sessions), set.heard(p.former), set.heard(p.away)
	p.blindBefore = slices.Clone(p.blindBefore)
	for i, b := range p.blindBefore {
		p.blindBefore[i] = Interval{set.shows(b.From), set.shows(b.To)}
	}
	if p.quiet != nil {
		p.quiet = &History{Since: p.since}
	}
	if p.state != nil {
		before := p.state.ClockOffset()
		p.state = p.state.shifted(set)
		offset = p.state.ClockOffset() - before
		p.offset += offset
	}
	return offset
}

// heard is a table of sessions with the instants of their clients' last contacts by our clock of now. What was published has the table
// of before.
func (s clockSet) heard(table map[int64]Session) map[int64]Session {
	moved := maps.Clone(table)
	for id, session := range moved {
		session.LastContact = s.shows(session.LastContact)
		moved[id] = session
	}
	return moved
}

// shifted is the backend with the distances of its servers' clocks from ours of now. What nobody has compared with ours stays unknown.
func (b *Backend) shifted(set clockSet) *Backend {
	moved := *b
	switch k := &moved.Clock; {
	case k.Known:
		k.Offset -= set.by
	case k.Offset > 0: // that much ahead at least; else nothing is known
		k.Offset = max(0, k.Offset-set.by)
	}
	moved.Servers = slices.Clone(b.Servers)
	for i := range moved.Servers {
		if s := &moved.Servers[i]; s.ClockKnown {
			s.ClockOffset -= set.by
		}
	}
	return &moved
}

// shifted is the lock by our clock of now. A grant that we saw was dated by it and by the backend's distance from it, both of which
// have changed: its time by the backend's clock has not.
func (l *Lock) shifted(set clockSet, offset time.Duration) *Lock {
	moved := clone(l)
	everyContender(moved, func(c *Contender) {
		if !c.Seen.IsZero() {
			c.Seen = InstantOf(c.Seen.Time().Add(set.by))
		}
		if c.grantSeen() {
			c.HeldSince = set.shows(c.HeldSince).Add(offset)
		}
	})
	if h := l.history; h != nil {
		own := *h
		own.Since = set.shows(h.Since)
		moved.history = &own
	}
	return moved
}

// grantSeen reports whether a holder's grant was seen by us, and so is dated by our clock.
func (c *Contender) grantSeen() bool { return !c.HeldSince.IsZero() && !c.HeldSince.Equal(c.Since) }
