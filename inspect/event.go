package inspect

import (
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// EventKind names an event in the JSON of lockscope watch.
type EventKind string

// The kinds of events, as in the JSON of watch.
const (
	// EventAppeared is a new lock, and EventGone one that no longer exists. EventGone with a
	// contender is a waiter that left the queue and was not seen to hold. It gave up or, on a busy
	// lock, held and released between two looks. Locks and contenders found in the first pass over
	// a backend cause no events.
	EventAppeared EventKind = "appeared"
	EventGone     EventKind = "gone"
	// EventWaiting means that a contender joined the queue.
	EventWaiting EventKind = "waiting"
	// EventAcquired is a grant. It is an EventHandover instead if another holder, From, left in the
	// same change. The end of that holder's hold is reported first.
	EventAcquired EventKind = "acquired"
	EventHandover EventKind = "handover"
	// The ends of a hold. EventExpired means that its key's TTL had passed, or that its session is
	// gone. EventForced means that this program ended it. EventEnded means that the cause is
	// unknown. It ended while we could not look (Between), or its Redis master evicts keys, deleted
	// all of them, restarted or did not push the change. EventReleased is any other end: its entry
	// was deleted before its time. We cannot see which client deleted it. An operator's delete with
	// another tool looks the same. So may the end of a ZooKeeper session; the event is then only
	// likely.
	EventReleased EventKind = "released"
	EventExpired  EventKind = "expired"
	EventForced   EventKind = "forced"
	EventEnded    EventKind = "ended"
	// EventFinding is a new or more severe finding. EventCleared is one that has been gone for 5 s.
	EventFinding EventKind = "finding"
	EventCleared EventKind = "cleared"
	// EventBackend means that a backend's state or mode changed, or that it was not connected at
	// first.
	EventBackend EventKind = "backend"
	// EventBlind means that a backend can be read again. Whatever happened Between was not seen.
	EventBlind EventKind = "blind"
	// EventChanged is a new master or leader of a backend, or a restart of a Redis server. See Change.
	EventChanged EventKind = "changed"
)

// CertaintyUnknown is the certainty of an event whose cause is unknown.
const CertaintyUnknown recipe.Confidence = "unknown"

// Interval is a span of time by our clock.
type Interval struct{ From, To time.Time }

// ChangeKind names a change of a backend's servers.
type ChangeKind string

// The kinds of changes.
const (
	// ChangedMaster means a new Redis master, ChangedLeader a new leader of the ensemble.
	ChangedMaster ChangeKind = "master"
	ChangedLeader ChangeKind = "leader"
	// Restarted is the restart of a Redis server, which lost all data that it had not persisted.
	Restarted ChangeKind = "restarted"
)

// Change of a backend's servers. From and To are addresses as in a target, and equal for
// Restarted.
type Change struct {
	What     ChangeKind
	From, To string
}

// Event is one observed change. Its pointers lead to shared values, which must not be modified.
type Event struct {
	Kind EventKind
	// At is when it was seen, by our clock.
	At time.Time
	// Lock is the event's lock; zero for a backend's event.
	Lock ID
	// Contender is the contender after the event, or as it was when it left; nil if none.
	Contender *Contender
	// Certainty of Kind. An EventReleased of a znode is only likely if its session may have expired
	// instead. That is so if the servers report no sessions, or last reported this one too long
	// ago. For a Redis key it is always only likely, since no server reports which command removed
	// a key. It may have been renamed, or swapped out with its database.
	Certainty recipe.Confidence
	// Between bounds the time of an unobserved event, or is the gap of an EventBlind; zero if the
	// event was seen at At.
	Between Interval
	// Previous is the previous holder of a handover; else nil.
	Previous *Contender
	// Finding is the finding that was raised or cleared.
	Finding *Finding
	// Backend is the backend whose state changed, or that has the finding.
	Backend *Backend
	// Change is set for EventChanged; else nil.
	Change *Change
}

// Unseen reports whether the event happened at some time before At, while we did not look.
func (e *Event) Unseen() bool { return e.Kind != EventBlind && !e.Between.From.IsZero() }

// From is the name of a handover's previous holder; else empty.
func (e *Event) From() Untrusted {
	if e.Previous == nil {
		return ""
	}
	return e.Previous.Name
}
