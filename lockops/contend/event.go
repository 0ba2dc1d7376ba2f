package contend

import "time"

// EventKind is the step of a contender that an Event reports.
type EventKind uint8

// Events of contenders.
const (
	Queued   EventKind = iota // it began to acquire the lock
	Granted                   // it acquired the lock
	Released                  // it began to release the lock
	Lost                      // its hold's context ended before a release
	Failed                    // an acquire or a release failed
	Left                      // it stopped waiting because the run ends
)

// String returns the kind as a word.
func (k EventKind) String() string {
	return [...]string{"queued", "granted", "released", "lost", "failed", "left"}[k]
}

// Event is a contender's step in a run.
type Event struct {
	Kind      EventKind
	Contender int // from 0
	At        time.Time
	// These are set for a Granted event. Wait is how long the contender waited. Overtook reports
	// whether the grant is already known to have overtaken a waiter. Overlap reports whether
	// another contender that it excludes held the lock.
	Wait     time.Duration
	Overtook bool
	Overlap  bool
	// Err is the cause of Lost and Failed.
	Err error
}

// State of a contender; it changes with each Event.
type State uint8

// The states.
const (
	Thinking  State = iota // pauses
	Waiting                // waits for the lock
	Holding                // holds it
	Releasing              // releases it
	Done                   // has ended
)

// String returns the state as a word.
func (s State) String() string {
	return [...]string{"thinking", "waiting", "holding", "releasing", "done"}[s]
}
