package inspect

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"time"
)

// Snapshot is everything known at one moment. It is immutable, shared between all readers, and
// holds instants, never ages.
type Snapshot struct {
	// TakenAt is by our clock.
	TakenAt time.Time
	// Backends in the order of the targets.
	Backends []*Backend
	// Changed are the locks put or removed since the previous snapshot of the same subscription;
	// nil in the first one.
	Changed []ID
	// Events since the previous snapshot, oldest first, and the number Dropped before them because
	// they were too many. There are none in the first snapshot.
	Events  []Event
	Dropped int
	locks   table
	// reported holds the backends as their sources reported them, without the rules' findings. It is
	// nil in a snapshot that does not come from an Observer.
	reported []*Backend
	sessions map[string]map[int64]Session
	watched  map[string]time.Time
	cycles   []Cycle
	owners   *owners
	hosts    *Hosts // nil if only their addresses are known
}

// NewSnapshot makes a snapshot of locks that do not come from an Observer, such as a recording or
// a test.
func NewSnapshot(takenAt time.Time, backends []*Backend, locks []*Lock) *Snapshot {
	var t table
	for _, l := range locks {
		t.put(l)
	}
	return &Snapshot{TakenAt: takenAt, Backends: backends, locks: t, owners: &owners{}}
}

// With returns the snapshot with another version of a lock.
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

// Where returns the snapshot with only the locks that keep accepts.
func (s *Snapshot) Where(keep func(*Lock) bool) *Snapshot {
	rest := NewSnapshot(s.TakenAt, s.Backends,
		slices.DeleteFunc(slices.Collect(s.Locks()), func(l *Lock) bool { return !keep(l) }))
	rest.sessions, rest.watched, rest.hosts, rest.cycles = s.sessions, s.watched, s.hosts, s.cycles
	return rest
}

// WithHosts returns the snapshot with names for the clients' hosts.
func (s *Snapshot) WithHosts(hosts *Hosts) *Snapshot {
	with := *s
	with.hosts = hosts
	return &with
}

// Len is the number of locks.
func (s *Snapshot) Len() int { return s.locks.len() }

// Locks iterates over all locks, sorted by id.
func (s *Snapshot) Locks() iter.Seq[*Lock] { return s.locks.all() }

// Lock finds a lock by its id; nil if it does not exist.
func (s *Snapshot) Lock(id ID) *Lock { return s.locks.get(id) }

// Session returns a contender's session, as last reported by the servers of l's backend; false if
// they did not.
func (s *Snapshot) Session(l *Lock, c *Contender) (Session, bool) {
	session, ok := s.sessions[l.ID.Backend][c.Owner.Session]
	return session, ok && c.Owner.Session != 0
}

// Sessions are a backend's sessions by id, as last reported; nil if none were. Do not change it.
func (s *Snapshot) Sessions(backend string) map[int64]Session { return s.sessions[backend] }

// Watched returns when we began to watch all of a backend, by our clock; zero if we do not, or do
// not know.
func (s *Snapshot) Watched(backend string) time.Time { return s.watched[backend] }

// Backend finds a backend by its name; nil if it does not exist.
func (s *Snapshot) Backend(name string) *Backend {
	for _, b := range s.Backends {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Age is the time since an instant by one of the servers' clocks.
type Age struct {
	time.Duration
	// Known means that the clock was compared with ours. Otherwise the age is approximate, and at
	// least Least.
	Known bool
	Least time.Duration
}

// Age is the time since a contender arrived or was granted; false if that instant is zero.
func (s *Snapshot) Age(l *Lock, c *Contender, instant, now time.Time) (Age, bool) {
	return s.Backend(l.ID.Backend).Age(c, instant, now)
}

// Age is Snapshot.Age for a contender of one of the backend's locks.
func (b *Backend) Age(c *Contender, instant, now time.Time) (Age, bool) {
	if instant.IsZero() {
		return Age{}, false
	}
	d := max(0, now.Add(b.ClockOffset()).Sub(instant))
	// a grant that we saw was dated by our clock
	if b.Dates(c.Czxid) || instant.Equal(c.HeldSince) && !c.HeldSince.Equal(c.Since) {
		return Age{d, true, d}, true
	}
	return Age{Duration: d, Least: b.AgeAtLeast(instant, c.Czxid, now)}, true
}

// Established is how long a session's client has been connected; false if unknown. It is dated by
// the server that the client is connected to, not by the leader.
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

// differing visits the new or changed locks of t, and the ids that exist only in before, in order.
// It skips the pages that both share. before may be nil.
func (t *table) differing(before *table, put func(*Lock), gone func(ID)) {
	was, is := reader{pages: cmp.Or(before, &table{}).pages}, reader{pages: t.pages}
	for {
		w, l := was.lock(), is.lock()
		switch {
		case w == nil && l == nil:
			return
		case l == nil || w != nil && w.ID.Compare(l.ID) < 0:
			gone(w.ID)
			was.next()
		case w == nil || w.ID != l.ID:
			put(l)
			is.next()
		case was.samePage(is):
			was.nextPage()
			is.nextPage()
		default:
			if w != l {
				put(l)
			}
			was.next()
			is.next()
		}
	}
}

// reader reads the locks of a table in order.
type reader struct {
	pages []page // the first has the next lock
	at    int
}

// lock is the next lock; nil at the end.
func (r *reader) lock() *Lock {
	if len(r.pages) == 0 {
		return nil
	}
	return r.pages[0].locks[r.at]
}

func (r *reader) next() {
	if r.at++; r.at == len(r.pages[0].locks) {
		r.nextPage()
	}
}

func (r *reader) nextPage() { r.pages, r.at = r.pages[1:], 0 }

// samePage reports whether both are at the start of a page that their tables share.
func (r *reader) samePage(other reader) bool {
	mine, theirs := r.pages[0].locks, other.pages[0].locks
	return r.at == 0 && other.at == 0 && &mine[0] == &theirs[0] && len(mine) == len(theirs)
}

// Since returns the updates, source by source, that take an Observer's snapshot from before to s:
// whole backends with their sessions, and the locks that differ as their sources reported them.
// before may be nil. The watch tables are left out.
func (s *Snapshot) Since(before *Snapshot) []Update {
	var old *table
	if before != nil {
		old = &before.locks
	}
	of := make(map[string]*Update)
	list := make([]*Update, 0, len(s.Backends))
	for i, b := range s.Backends {
		u := &Update{}
		if s.reported != nil {
			b = s.reported[i]
		}
		if before == nil || !slices.Contains(before.reported, b) {
			u.Backend = b
		}
		if sessions := s.sessions[b.Name]; sessions != nil &&
			(before == nil || !sameTable(sessions, before.sessions[b.Name])) {
			u.Backend, u.Sessions = b, sessions
		}
		of[b.Name] = u
		list = append(list, u)
	}
	update := func(backend string) *Update {
		u := of[backend]
		if u == nil {
			u = &Update{}
			of[backend] = u
			list = append(list, u)
		}
		return u
	}
	s.locks.differing(old, func(l *Lock) {
		u := update(l.ID.Backend)
		u.Put = append(u.Put, l.asReported())
	}, func(id ID) {
		u := update(id.Backend)
		u.Gone = append(u.Gone, id)
	})
	var all []Update
	for _, u := range list {
		if u.Backend != nil || len(u.Put) > 0 || len(u.Gone) > 0 {
			all = append(all, *u)
		}
	}
	return all
}

// sameTable reports whether two session tables are the same map.
func sameTable(a, b map[int64]Session) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// asReported returns the lock without the rules' findings.
func (l *Lock) asReported() *Lock {
	if l.Observed.Reported == len(l.Findings) {
		return l
	}
	own := *l
	own.Findings = slices.Clip(l.Findings[:l.Observed.Reported])
	return &own
}
