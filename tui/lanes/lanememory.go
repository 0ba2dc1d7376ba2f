package lanes

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// leftKept limits the remembered contenders that have left a lock.
const leftKept = 400

// laneMemory remembers the contenders that have left one lock, as seen in the event log.
type laneMemory struct {
	lock   inspect.ID
	next   int // the first event not read yet, counted from the very first one
	ended  []inspect.Event
	joined map[Key]time.Time
	// from is the start of the remembered time; zero means since we began to watch.
	from time.Time
}

// read records the new events about a lock in the log.
func (m *laneMemory) read(log *screen.EventLog, lock inspect.ID) {
	if lock != m.lock || m.joined == nil || m.next > log.End() { // another lock, or an earlier moment
		*m = laneMemory{lock: lock, joined: make(map[Key]time.Time)}
	}
	if at, number := log.CompleteFrom(lock); m.next <= number {
		m.from = at
	}
	for _, e := range log.List[log.Place(m.next):] {
		if e.Contender != nil && e.Lock == lock {
			m.record(e)
		}
	}
	m.next = log.End()
	if over := len(m.ended) - leftKept; over > leftKept/4 {
		m.from = m.ended[over-1].At
		m.ended = append([]inspect.Event(nil), m.ended[over:]...)
	}
	if len(m.joined) > 2*leftKept {
		clear(m.joined)
	}
}

func (m *laneMemory) record(e inspect.Event) {
	switch e.Kind {
	case inspect.EventReleased, inspect.EventExpired, inspect.EventEnded, inspect.EventForced, inspect.EventGone:
		m.ended = append(m.ended, e)
	case inspect.EventWaiting:
		if e.Contender.Since.IsZero() {
			m.joined[KeyOf(e.Contender)] = e.At
		}
	case inspect.EventAcquired, inspect.EventHandover:
		waiter := *e.Contender
		waiter.HeldSince = time.Time{}
		if at, ok := m.joined[KeyOf(&waiter)]; ok {
			delete(m.joined, KeyOf(&waiter))
			m.joined[KeyOf(e.Contender)] = at
		}
	}
}

// Source provides the lanes of a lock. They are rebuilt only for another snapshot, lock or time.
type Source struct {
	screen.Context
	memory laneMemory
	// Started is when the program started; nothing was seen before.
	Started time.Time
	from    *inspect.Snapshot
	at      time.Time
	lanes   []Lane
	// names is the room for the names of the contenders in namesOf.
	names   widget.Widest
	namesOf inspect.ID
	// places are the clients' positions in the list last drawn, for the window placesOf.
	places   map[client]int
	placesOf window
}

// client is a lane's owner; a label tells a session's threads apart.
type client struct {
	who         inspect.Identity
	label, name inspect.Untrusted // name is only set for a contender without an identity
}

// window is the lock and the time span on view.
type window struct {
	lock   inspect.ID
	length time.Duration
	end    time.Time // zero means now
}

// Folded merges each client's attempts into one lane. Lanes keep the places where they were last
// drawn, so that they can be read, and new ones come last. In another window they are in order of
// arrival.
func (s *Source) Folded(v *View, list []*Lane) []*Lane {
	folded := Fold(list, v.id.Backend)
	if v.Window.Cells <= 0 {
		return folded // not laid out yet
	}
	now := window{lock: v.id, length: v.Length}
	if !v.Live {
		now.end = v.Window.End()
	}
	if now != s.placesOf {
		s.places, s.placesOf = nil, now
	}
	of := func(l *Lane) client {
		who, ok := l.Contender.Identity(v.id.Backend)
		if !ok {
			return client{name: l.Contender.Name}
		}
		return client{who: who, label: l.Contender.Owner.Label}
	}
	place := func(l *Lane) int {
		if at, ok := s.places[of(l)]; ok {
			return at
		}
		return math.MaxInt
	}
	slices.SortStableFunc(folded, func(a, b *Lane) int { return cmp.Compare(place(a), place(b)) })
	places := make(map[client]int, len(folded))
	for i, l := range folded {
		if _, again := places[of(l)]; !again {
			places[of(l)] = i
		}
	}
	s.places = places
	return folded
}

func NewSource(host screen.Context) Source { return Source{Context: host, Started: host.Now()} }

// Of returns the lanes of a lock, in order of arrival.
func (s *Source) Of(id inspect.ID) []Lane {
	if s.from == s.Snapshot() && s.at.Equal(s.Now()) && s.memory.lock == id {
		return s.lanes
	}
	s.memory.read(s.Log(), id)
	past := PastLock{
		ended: s.memory.ended, joined: s.memory.joined,
		offset: s.Snapshot().Backend(id.Backend).ClockOffset(),
	}
	if h := s.Snapshot().History(id); h != nil {
		past.spans = h.Recent
	}
	s.lanes = LanesOf(s.Snapshot().Lock(id), past, s.Now())
	s.from, s.at = s.Snapshot(), s.Now()
	return s.lanes
}

// Forget releases the snapshot that the lanes came from; contenders that have left stay remembered.
func (s *Source) Forget() { s.from, s.lanes = nil, nil }

// Looked is when we began to watch a lock.
func (s *Source) Looked(id inspect.ID) time.Time {
	if h := s.Snapshot().History(id); h != nil {
		return h.Since
	}
	return s.Started
}

// Known is the time from which all waiters and holders of a lock are remembered.
func (s *Source) Known(id inspect.ID) time.Time {
	if looked := s.Looked(id); s.memory.lock != id || !s.memory.from.After(looked) {
		return looked
	}
	return s.memory.from
}
