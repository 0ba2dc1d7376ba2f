package inspect

import "time"

// EventKind is what happened.
type EventKind string

// The kinds of events, as in the JSON of watch.
const (
	// EventAppeared: a lock that was not there before, and EventGone: a lock that is there no more. Gone with a contender:
	// a waiter left the queue and was not seen to hold: it gave up, or, on a hot lock, its turn came and went between two
	// looks. Locks that are found when a backend is looked at for the first time have not appeared, and nobody in them
	// has come.
	EventAppeared EventKind = "appeared"
	EventGone     EventKind = "gone"
	// EventWaiting: a contender joined the queue.
	EventWaiting EventKind = "waiting"
	// EventAcquired: a contender was granted. EventHandover stands in its place when another holder, From, left in the same
	// change; the end of that one's hold is told before it.
	EventAcquired EventKind = "acquired"
	EventHandover EventKind = "handover"
	// The end of a hold. EventExpired: its key was gone at or after the time it had to live, or its session is gone.
	// EventForced: this program freed it. EventLost: it ended, and not by its owner or not so that we could see: while we
	// could not look, or with a Redis master that restarted without it. EventReleased: any other; its entry was deleted
	// before its time. Who deleted it does not show: an operator's delete by another tool looks the same, and so does, when
	// Unsure, the end of a ZooKeeper session.
	EventReleased EventKind = "released"
	EventExpired  EventKind = "expired"
	EventLost     EventKind = "lost"
	EventForced   EventKind = "forced"
	// EventFinding: a finding that was not there, or was less severe; EventCleared: one that has not been
	// there for 5 s.
	EventFinding EventKind = "finding"
	EventCleared EventKind = "cleared"
	// EventBackend: the state or mode of a backend changed, or the first one that it told is not connected.
	EventBackend EventKind = "backend"
)

// Event is one change that was seen. Nobody may change what it points to.
type Event struct {
	Kind EventKind
	// At is when, by our clock, it was seen.
	At time.Time
	// Lock it is about; zero for a backend's.
	Lock ID
	// Contender it is about, as it was when it left or as it is; nil when it is about the lock or a backend.
	Contender *Contender
	// Unsure: of an EventReleased, that its session may have run out instead: the servers tell no sessions, or what they
	// last told of this one was too long ago.
	Unsure bool
	// From is the name of the holder before, of a handover.
	From Untrusted
	// Finding that came or was cleared.
	Finding *Finding
	// Backend whose state changed, or whose finding it is.
	Backend *Backend
}
