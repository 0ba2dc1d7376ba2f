package inspect

import "time"

// EventKind is what happened.
type EventKind string

// The kinds of events, as in the JSON of watch. EventLost: a holder's session or key ended without a release that we can
// tell from one. EventForced: an operator freed it. EventHandover: one holder gave way to the next within one change.
const (
	EventAppeared EventKind = "appeared"
	EventGone     EventKind = "gone"
	EventWaiting  EventKind = "waiting"
	EventAcquired EventKind = "acquired"
	EventReleased EventKind = "released"
	EventExpired  EventKind = "expired"
	EventLost     EventKind = "lost"
	EventForced   EventKind = "forced"
	EventHandover EventKind = "handover"
	EventFinding  EventKind = "finding"
	EventCleared  EventKind = "cleared"
	EventBackend  EventKind = "backend"
)

// Event is one change that was seen.
type Event struct {
	Kind EventKind
	// At is when, by our clock, it was seen.
	At time.Time
	// Lock it is about; zero for a backend's.
	Lock ID
	// Contender it is about; nil when it is about the lock or a backend.
	Contender *Contender
	// From is the name of the holder before, of a handover.
	From Untrusted
	// Finding that came or was cleared.
	Finding *Finding
	// Backend whose state changed.
	Backend *Backend
}
