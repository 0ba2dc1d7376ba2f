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

// Lock finds a lock by its id; nil when there is none.
func (s *Snapshot) Lock(id ID) *Lock { return s.locks.get(id) }

// Session of a contender, as the servers of l's backend last reported it; false when they did not.
func (s *Snapshot) Session(l *Lock, c *Contender) (Session, bool) {
	session, ok := s.sessions[l.ID.Backend][c.Owner.Session]
	return session, ok && c.Owner.Session != 0
}

// Sessions of a backend by its servers' last report, by id; nil when none did. Do not change it.
func (s *Snapshot) Sessions(backend string) map[int64]Session { return s.sessions[backend] }

// Backend finds a backend by its name; nil when there is none.
func (s *Snapshot) Backend(name string) *Backend {
	for _, b := range s.Backends {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Age of an instant by the clock of the lock's backend; false when t is zero.
func (s *Snapshot) Age(l *Lock, t time.Time, now time.Time) (time.Duration, bool) {
	if t.IsZero() {
		return 0, false
	}
	return max(0, now.Add(s.Backend(l.ID.Backend).ClockOffset()).Sub(t)), true
}
