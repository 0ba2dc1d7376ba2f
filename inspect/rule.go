package inspect

import "time"

// Rule diagnoses locks or backends. Package finding has one a file.
type Rule struct {
	// Name as the command line's contract lists it.
	Name string
	// NeedsHistory: one-shot commands do not ask it.
	NeedsHistory bool
	// AsOf: one look may see halfway what it finds (an acquisition that asks one master after the other), so
	// that it is reported only when two looks SettleFor apart have found it. AsOf is the time, by our clock,
	// at which what it rests on was last seen. A rule without is believed at once.
	AsOf func(*Case) time.Time
	// Lock diagnoses one lock, Backend one backend; either may be nil. Nothing found is nil. Neither Lock nor AsOf
	// may keep the Case: that of the next lock takes its place.
	Lock    func(*Case) []Finding
	Backend func(*Backend, time.Time) []Finding
}

// TableAge distinguishes a current table of watches from an old one. Only the tables of locks that
// a viewer has open are read repeatedly.
type TableAge uint8

// The ages of a table.
const (
	TableOfNow TableAge = iota
	TableOld            // it was read a minute ago or earlier
	TableVoid           // clients may have connected anew since, and set their watches again
)

// Case is a lock with its context.
type Case struct {
	Lock    *Lock
	Backend *Backend // nil while it has not reported its state
	// Now is by our clock. Offset is the backend's clock minus ours.
	Now    time.Time
	Offset time.Duration
	// Sessions of the lock's backend; nil when no server reported. All of them only when AllSessions.
	Sessions    map[int64]Session
	AllSessions bool
	// SessionsAt is the time, by our clock, at which Sessions were read; zero when unknown.
	SessionsAt time.Time
	// Watches is the newest watch table that covers the lock; nil if none was read.
	Watches *WatchTable
	// WatchesAre is TableOfNow unless they were read a minute ago, or before clients may have set
	// theirs again.
	WatchesAre TableAge
	// History of the lock so far; nil in a one-shot command.
	History *History
	// Spread of the backend's locks over its masters.
	Spread Spread
	// Cycle are the locks of a wait-for cycle that this one is in, and the owners between them; nil when in none.
	Cycle *Cycle
	// StuckAfter is the time for which a holder may hold while others wait before that is reported.
	StuckAfter time.Duration
	// Reach of each backend from a command line, by the backend's name.
	Reach map[string]Reach
}

// History of one lock while we watched.
type History struct {
	// Since when, by our clock, it was watched.
	Since time.Time
	// Grants, and of these the ones that followed another holder at once.
	Grants, Handovers int
	// Holds and Waits are complete spans, from grant to end and from entering the queue to grant.
	Holds, Waits Spans
	// Overtaken counts for each waiter now in the queue the grants to contenders that came after it.
	Overtaken map[Untrusted]int
	// Renewal of the present holder's key.
	Renewal Renewal
	// LongestTTL is the longest time to live that was seen on a Redis lock.
	LongestTTL time.Duration
	// Recent are the last holds that have ended, the oldest first; at most 32.
	Recent []Span
}

// Span is one contender's time with a lock, by the backend's clock. Granted is zero when it held before we
// looked, Ended when it ended while we could not.
type Span struct {
	Contender, Label       Untrusted
	Queued, Granted, Ended time.Time
}

// Spans summarise many durations of one kind.
type Spans struct {
	Count         int
	P50, P99, Max time.Duration
}

// Renewal of a holder's key, read from its times to live.
type Renewal struct {
	// Count of renewals that were seen, Every is the usual time between two, Last the newest.
	Count int
	Every time.Duration
	Last  time.Time
	// TTL that a renewal sets.
	TTL time.Duration
	// Skipped counts the renewals that should have been between two others and were not. Those that are
	// missing since the last one are not among them: the finding renewal-stopped is about these.
	Skipped int
}
