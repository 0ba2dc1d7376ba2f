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
	// Events are what happened since that snapshot, the oldest first, and Dropped how many before them were too many to
	// keep; none in the first one.
	Events   []Event
	Dropped  int
	locks    table
	sessions map[string]map[int64]Session
	cycles   []Cycle
	owners   *owners
}

// NewSnapshot makes a snapshot of locks that come from elsewhere than an Observer: a recording, a test.
func NewSnapshot(takenAt time.Time, backends []*Backend, locks []*Lock) *Snapshot {
	var t table
	for _, l := range locks {
		t = t.with(l)
	}
	return &Snapshot{TakenAt: takenAt, Backends: backends, locks: t, owners: &owners{}}
}

// Len is the number of locks.
func (s *Snapshot) Len() int { return s.locks.len() }

// Locks are all locks, sorted by id.
func (s *Snapshot) Locks() iter.Seq[*Lock] { return s.locks.all() }

// Lock finds a lock by its id; nil when there is none.
func (s *Snapshot) Lock(id ID) *Lock { return s.locks.get(id) }

// Session is what the servers of l's backend last told of a contender's session; false when they did not.
func (s *Snapshot) Session(l *Lock, c *Contender) (Session, bool) {
	session, ok := s.sessions[l.ID.Backend][c.Owner.Session]
	return session, ok && c.Owner.Session != 0
}

// Backend finds a backend by its name; nil when there is none.
func (s *Snapshot) Backend(name string) *Backend {
	for _, b := range s.Backends {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Age is how long ago an instant of the lock's backend was, by that backend's clock; false when t is zero.
func (s *Snapshot) Age(l *Lock, t time.Time, now time.Time) (time.Duration, bool) {
	if t.IsZero() {
		return 0, false
	}
	return max(0, now.Add(s.Backend(l.ID.Backend).ClockOffset()).Sub(t)), true
}

// ClockOffset is the backend's clock minus ours: that of its first server whose clock is known, 0 otherwise.
func (b *Backend) ClockOffset() time.Duration {
	if b != nil {
		for _, s := range b.Servers {
			if s.ClockKnown {
				return s.ClockOffset
			}
		}
	}
	return 0
}

// ClockKnown says that ClockOffset is known and not only taken for 0.
func (b *Backend) ClockKnown() bool {
	return b != nil && slices.ContainsFunc(b.Servers, func(s Server) bool { return s.ClockKnown })
}

// pageSize bounds how much a change of one lock copies.
const pageSize = 512

// table is an immutable list of locks sorted by id, in pages: a new version copies one page and the list of pages.
type table struct {
	pages [][]*Lock
	count int
}

func (t table) len() int { return t.count }

func (t table) all() iter.Seq[*Lock] {
	return func(yield func(*Lock) bool) {
		for _, p := range t.pages {
			for _, l := range p {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// from are the locks from id on.
func (t table) from(id ID) iter.Seq[*Lock] {
	return func(yield func(*Lock) bool) {
		if t.count == 0 {
			return
		}
		page, at, _ := t.find(id)
		for ; page < len(t.pages); page, at = page+1, 0 {
			for _, l := range t.pages[page][min(at, len(t.pages[page])):] {
				if !yield(l) {
					return
				}
			}
		}
	}
}

func compareLock(l *Lock, id ID) int { return l.ID.Compare(id) }

// find is the page that holds id or where it belongs, and the place in it.
func (t table) find(id ID) (page, at int, found bool) {
	page, found = slices.BinarySearchFunc(t.pages, id, func(p []*Lock, id ID) int { return p[0].ID.Compare(id) })
	if !found && page > 0 {
		page--
	}
	if page == len(t.pages) {
		return page, 0, false
	}
	at, found = slices.BinarySearchFunc(t.pages[page], id, compareLock)
	return page, at, found
}

func (t table) get(id ID) *Lock {
	if page, at, found := t.find(id); found {
		return t.pages[page][at]
	}
	return nil
}

// with is the table with l in place of the lock of the same id.
func (t table) with(l *Lock) table {
	page, at, found := t.find(l.ID)
	if page == len(t.pages) {
		return table{pages: append(slices.Clip(t.pages), []*Lock{l}), count: t.count + 1}
	}
	pages := slices.Clone(t.pages)
	if found {
		pages[page] = slices.Clone(pages[page])
		pages[page][at] = l
		return table{pages: pages, count: t.count}
	}
	grown := slices.Insert(slices.Clone(pages[page]), at, l)
	pages[page] = grown
	if len(grown) > pageSize {
		half := len(grown) / 2
		pages[page] = slices.Clip(grown[:half])
		pages = slices.Insert(pages, page+1, grown[half:])
	}
	return table{pages: pages, count: t.count + 1}
}

// without is the table without the lock of that id.
func (t table) without(id ID) table {
	page, at, found := t.find(id)
	if !found {
		return t
	}
	pages := slices.Clone(t.pages)
	if len(pages[page]) == 1 {
		pages = slices.Delete(pages, page, page+1)
	} else {
		pages[page] = slices.Delete(slices.Clone(pages[page]), at, at+1)
	}
	return table{pages: pages, count: t.count - 1}
}
