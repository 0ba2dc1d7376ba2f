package tui

import (
	"time"

	"lockscope/inspect"
)

// leftKept is how many contenders that have left a lock are remembered.
const leftKept = 400

// laneMemory remembers the contenders that have left one lock, from the log of what happened while we looked.
type laneMemory struct {
	lock   inspect.ID
	next   int // the first event not read yet, counted from the very first one
	ended  []inspect.Event
	joined map[laneKey]time.Time
}

// read takes in what is new in the log about a lock.
func (m *laneMemory) read(log *eventLog, lock inspect.ID) {
	if lock != m.lock || m.joined == nil {
		*m = laneMemory{lock: lock, joined: make(map[laneKey]time.Time)}
	}
	for _, e := range log.list[max(0, m.next-log.dropped):] {
		if e.Contender != nil && e.Lock == lock {
			m.note(e)
		}
	}
	m.next = log.dropped + len(log.list)
	if over := len(m.ended) - leftKept; over > leftKept/4 {
		m.ended = append([]inspect.Event(nil), m.ended[over:]...)
	}
	if len(m.joined) > 2*leftKept {
		clear(m.joined)
	}
}

func (m *laneMemory) note(e inspect.Event) {
	switch e.Kind {
	case inspect.EventReleased, inspect.EventExpired, inspect.EventLost, inspect.EventEnded, inspect.EventForced, inspect.EventGone:
		m.ended = append(m.ended, e)
	case inspect.EventWaiting:
		if e.Contender.Since.IsZero() {
			m.joined[keyOf(e.Contender)] = e.At
		}
	case inspect.EventAcquired, inspect.EventHandover:
		waiter := *e.Contender
		waiter.HeldSince = time.Time{}
		if at, ok := m.joined[keyOf(&waiter)]; ok {
			delete(m.joined, keyOf(&waiter))
			m.joined[keyOf(e.Contender)] = at
		}
	}
}

// laneSource has the lanes of a lock. They are made anew only for another snapshot, lock or time.
type laneSource struct {
	Context
	memory laneMemory
	// started is when the program did.
	started time.Time
	from    *inspect.Snapshot
	at      time.Time
	lanes   []lane
}

func newLaneSource(host Context) laneSource { return laneSource{Context: host, started: host.Now()} }

// of are the lanes of a lock, in the order of arrival.
func (s *laneSource) of(id inspect.ID) []lane {
	if s.from == s.Snapshot() && s.at.Equal(s.Now()) && s.memory.lock == id {
		return s.lanes
	}
	s.memory.read(s.Log(), id)
	past := pastLock{
		ended: s.memory.ended, joined: s.memory.joined,
		offset: s.Snapshot().Backend(id.Backend).ClockOffset(),
	}
	if h := s.Snapshot().History(id); h != nil {
		past.spans = h.Recent
	}
	s.lanes = lanesOf(s.Snapshot().Lock(id), past, s.Now())
	s.from, s.at = s.Snapshot(), s.Now()
	return s.lanes
}

// forget lets go of the snapshot that the lanes were made of; what has left the lock stays remembered.
func (s *laneSource) forget() { s.from, s.lanes = nil, nil }

// looked is since when a lock was watched.
func (s *laneSource) looked(id inspect.ID) time.Time {
	if h := s.Snapshot().History(id); h != nil {
		return h.Since
	}
	return s.started
}
