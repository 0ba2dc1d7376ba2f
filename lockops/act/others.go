package act

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// Deadlock is the effect of a release on a deadlock that its lock is in. The values are the command line's contract.
type Deadlock string

// The effects.
const (
	NoDeadlock      Deadlock = "none"
	DeadlockEnds    Deadlock = "ends"
	DeadlockStays   Deadlock = "stays" // the same owners still wait for each other
	DeadlockUnknown Deadlock = "unknown"
)

// Others is the effect of a release beyond its own lock.
type Others struct {
	// Read means that all other locks were readable. Known means that the contender's owner is
	// known, so that its other locks can be found.
	Read, Known bool
	// NotGiven are the kinds of servers without a target, if the lock has waiters. A deadlock
	// through them cannot be seen.
	NotGiven []inspect.BackendKind
	// Holds and Waits are the other locks that the owner holds and waits for, as far as they were read.
	Holds, Waits []inspect.ID
	Deadlock     Deadlock
}

// Consider fills in Others from the other locks as last seen; nil means they were not read.
func (p *Preview) Consider(s *inspect.Snapshot) {
	p.Others = Others{Deadlock: DeadlockUnknown}
	if s == nil || p.Seen == nil {
		return
	}
	o := &p.Others
	o.Read = readWhere(s, p.Request.ID.Backend)
	o.Holds, o.Waits, o.Known = s.Elsewhere(p.Request.ID, p.Seen)
	l := s.Lock(p.Request.ID)
	waited := l != nil && l.Waiting() > 0
	if waited {
		o.NotGiven = notGiven(s)
	}
	switch now, then := s.DeadlockWithout(p.Request.ID, p.Seen); {
	case now && then:
		o.Deadlock = DeadlockStays
	case now:
		o.Deadlock = DeadlockEnds
	// no client waits for it, or every lock that its owner may wait for is visible
	case o.Read && (!waited || o.Known && len(o.NotGiven) == 0):
		o.Deadlock = NoDeadlock
	}
}

// notGiven returns the kinds of servers that a snapshot lacks. A program with locks on one kind may
// have some on the other.
func notGiven(s *inspect.Snapshot) []inspect.BackendKind {
	return slices.DeleteFunc([]inspect.BackendKind{inspect.ZooKeeper, inspect.Redis}, func(k inspect.BackendKind) bool {
		return slices.ContainsFunc(s.Backends, func(b *inspect.Backend) bool { return b.Kind == k })
	})
}

// readWhere reports whether all backends were read that may show the owner of a lock on one of
// them. Only other ensembles cannot show the owner of a ZooKeeper session. A ZooKeeper session and
// a Redis client may be one program.
func readWhere(s *inspect.Snapshot, backend string) bool {
	own := s.Backend(backend)
	if own == nil {
		return false
	}
	for _, b := range s.Backends {
		apart := b != own && b.Kind == inspect.ZooKeeper && own.Kind == inspect.ZooKeeper
		if !apart && (!b.FirstPass || b.State != inspect.Connected) {
			return false
		}
	}
	return true
}

// Lines returns sentences about the other locks, for people; none if there is nothing to warn of.
func (o *Others) Lines() []string {
	var lines []string
	if !o.Read {
		text := "not all other locks could be read: its client may hold more than is shown"
		if o.Deadlock == DeadlockUnknown {
			text += ", and whether this breaks a deadlock is unknown"
		}
		lines = append(lines, text)
	}
	switch o.Deadlock {
	case DeadlockEnds:
		lines = append(lines, "this also breaks the deadlock")
	case DeadlockStays:
		lines = append(lines, "this does not break the deadlock")
	}
	if len(o.Holds) > 0 {
		lines = append(lines, "the client still holds: "+listed(o.Holds))
	}
	if len(o.Waits) > 0 {
		lines = append(lines, "the client is still waiting for: "+listed(o.Waits))
	}
	return lines
}

// shownLocks bounds the locks that a line names.
const shownLocks = 3

func listed(ids []inspect.ID) string {
	names := each.Of(ids[:min(len(ids), shownLocks)], inspect.ID.String)
	if more := len(ids) - shownLocks; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
