package inspect

import (
	"cmp"
	"slices"
	"time"
)

// place is what the Observer knows of one backend besides its locks. A source tells of one, a recording of several.
type place struct {
	source int
	name   string
	// state is nil until it was told.
	state *Backend
	// watched: everything was looked at once, so that what comes now is new.
	watched  bool
	sessions map[int64]Session
	// allSessions: one that is not in sessions is gone. sessionsAt is when they were told, by our clock.
	allSessions bool
	sessionsAt  time.Time
	// blindFrom and blindUntil are when we last lost sight of all of it, and had it again.
	blindFrom, blindUntil time.Time
}

// place finds a backend by its name, or makes it.
func (o *Observer) place(source int, name string) *place {
	if p := o.byName[name]; p != nil {
		return p
	}
	p := &place{source: source, name: name}
	o.byName[name] = p
	o.places = append(o.places, p)
	slices.SortStableFunc(o.places, func(a, b *place) int { return cmp.Compare(a.source, b.source) })
	return p
}

// tell takes in a newer state of the backend.
func (p *place) tell(b *Backend, now time.Time) {
	down := p.state != nil && p.state.State == Down
	switch {
	case b.State == Down && !down:
		p.blindFrom, p.blindUntil = now, time.Time{}
	case b.State != Down && down:
		p.blindUntil = now
	}
	p.state = b
}

// blind says that we lost sight of the backend after a lock's version was read and, so short a time after we had it
// again, may not have read the lock since. count is the number of locks to be read again.
func (p *place) blind(readAt, now time.Time, count int) bool {
	if p.blindFrom.IsZero() || readAt.After(p.blindFrom) && (p.blindUntil.IsZero() || readAt.After(p.blindUntil)) {
		return false
	}
	again := 5*time.Second + time.Duration(count)*2*time.Millisecond
	return p.blindUntil.IsZero() || now.Before(p.blindUntil.Add(again))
}

// sessionEnded says that a holder's session is known to be gone: a table of all sessions that is newer than the holder
// does not have it, or it was silent for so long that its time was up. now and the table are by our clock, the holder's
// instants by the backend's.
func (p *place) sessionEnded(c *Contender, now time.Time) bool {
	if c.Owner.Session == 0 || p.sessions == nil {
		return false
	}
	s, ok := p.sessions[c.Owner.Session]
	if !ok {
		return p.allSessions && !c.Since.IsZero() && p.sessionsAt.Add(p.state.ClockOffset()).After(c.Since.Add(time.Second))
	}
	// A living client sends something every third of its timeout.
	if s.LastContact.IsZero() || s.Timeout <= 0 {
		return false
	}
	silent := p.sessionsAt.Sub(s.LastContact)
	return silent > s.Timeout*2/3 && !now.Before(s.LastContact.Add(s.Timeout))
}

// restarted says that a server started after an instant.
func (p *place) restarted(addr string, since time.Time) bool {
	if p.state == nil {
		return false
	}
	for _, s := range p.state.Servers {
		if s.Addr == addr {
			return s.StartedAt.After(since)
		}
	}
	return false
}
