package inspect

import (
	"iter"
	"slices"
	"time"
)

// Snapshot is everything known at one moment. It is immutable, shared between all who look, and holds instants,
// never ages.
type Snapshot struct {
	// TakenAt by our clock.
	TakenAt time.Time
	// Backends in the order of the targets.
	Backends []*Backend
	// Changed are the locks that were put or removed since the snapshot that the same subscription saw before; nil
	// in its first one.
	Changed []ID
	// Events since that snapshot, the oldest first, and the number Dropped before them as too many to keep; none in the
	// first one.
	Events   []Event
	Dropped  int
	locks    table
	reported []*Backend // Backends as their sources reported them, without what the rules found; nil of one that was made
	sessions map[string]map[int64]Session
	cycles   []Cycle
	owners   *owners
	hosts    *Hosts // nil: their addresses are all that is known
}

// NewSnapshot makes a snapshot of locks that come from elsewhere than an Observer: a recording, a test.
func NewSnapshot(takenAt time.Time, backends []*Backend, locks []*Lock) *Snapshot {
	var t table
	for _, l := range locks {
		t.put(l)
	}
	return &Snapshot{TakenAt: takenAt, Backends: backends, locks: t, owners: &owners{}}
}

// With is the snapshot with another version of a lock.
func (s *Snapshot) With(l *Lock) *Snapshot {
	with := *s
	with.locks = table{}
	for other := range s.Locks() {
		if other.ID != l.ID {
			with.locks.put(other)
		}
	}
	with.locks.put(l)
	with.owners = &owners{}
	return &with
}

// Where is the same moment with those of its locks alone for which keep holds.
func (s *Snapshot) Where(keep func(*Lock) bool) *Snapshot {
	rest := NewSnapshot(s.TakenAt, s.Backends, slices.DeleteFunc(slices.Collect(s.Locks()), func(l *Lock) bool { return !keep(l) }))
	rest.sessions, rest.hosts, rest.cycles = s.sessions, s.hosts, s.cycles
	return rest
}

// WithHosts is the snapshot with names for the hosts of clients.
func (s *Snapshot) WithHosts(hosts *Hosts) *Snapshot {
	with := *s
	with.hosts = hosts
	return &with
}

// Len is the number of locks.
func (s *Snapshot) Len() int { return s.locks.len() }

// Locks are all locks, sorted by id.
func (s *Snapshot) Locks() iter.Seq[*Lock] { return s.locks.all() }

// Lock finds a lock by its id; nil if it does not exist.
func (s *Snapshot) Lock(id ID) *Lock { return s.locks.get(id) }

// Session of a contender, as the servers of l's backend last reported it; false when they did not.
func (s *Snapshot) Session(l *Lock, c *Contender) (Session, bool) {
	session, ok := s.sessions[l.ID.Backend][c.Owner.Session]
	return session, ok && c.Owner.Session != 0
}

// Sessions of a backend by its servers' last report, by id; nil when none did. Do not change it.
func (s *Snapshot) Sessions(backend string) map[int64]Session { return s.sessions[backend] }

// Backend finds a backend by its name; nil if it does not exist.
func (s *Snapshot) Backend(name string) *Backend {
	for _, b := range s.Backends {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Age is for how long an instant by a clock of the servers is past.
type Age struct {
	time.Duration
	// Known: that clock was compared with ours. Else it is about so long as far as the two agree, and Least at least.
	Known bool
	Least time.Duration
}

// Age is the time since a contender's instant, its arrival or its grant; false if that is zero.
func (s *Snapshot) Age(l *Lock, c *Contender, instant, now time.Time) (Age, bool) {
	return s.Backend(l.ID.Backend).Age(c, instant, now)
}

// Age is Snapshot.Age of a contender of one of the backend's locks.
func (b *Backend) Age(c *Contender, instant, now time.Time) (Age, bool) {
	if instant.IsZero() {
		return Age{}, false
	}
	d := max(0, now.Add(b.ClockOffset()).Sub(instant))
	if b.Dates(c.Czxid) || instant.Equal(c.HeldSince) && !c.HeldSince.Equal(c.Since) { // a grant that we saw was dated by our clock
		return Age{d, true, d}, true
	}
	return Age{Duration: d, Least: b.AgeAtLeast(instant, c.Czxid, now)}, true
}

// Established is for how long a session's client has been connected; false where that is not known. It was
// dated by the server that the client is connected to, not by the leader.
func (s *Snapshot) Established(l *Lock, session Session, now time.Time) (Age, bool) {
	if session.Established.IsZero() {
		return Age{}, false
	}
	b := s.Backend(l.ID.Backend)
	offset, known := b.clockOf(session.Server)
	d := max(0, now.Add(offset).Sub(session.Established))
	if !known {
		return Age{Duration: d}, true
	}
	return Age{d, true, d}, true
}
