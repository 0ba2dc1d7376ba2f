// Package act holds the operator's guarded actions on other people's locks. Each goes the same way: Preview shows
// what would happen and to whom, Execute does it only if the server still shows what the operator saw, then looks
// again and says who has the lock now. A line is written to the audit file before and after; no audit, no action.
package act

import (
	"context"
	"errors"

	"lockscope/inspect"
)

// Reason says why a release did not happen; empty when it did. The values are the command line's contract.
type Reason string

// The reasons.
const (
	NotHolder Reason = "not-holder" // the named owner waits, and waiters were not allowed
	Changed   Reason = "changed"    // an entry of that name is there, but it is not the one that was seen
	Gone      Reason = "gone"       // the named owner is no longer in the queue
	Declined  Reason = "declined"   // the operator did not confirm
	NoQuorum  Reason = "no-quorum"  // too few masters deleted it to free the lock
	NoAudit   Reason = "audit"      // the audit file cannot be written
	ReadOnly  Reason = "read-only"  // the profile forbids writing
)

// Request names what is to be released, as the operator saw it.
type Request struct {
	// Lock as it was on the screen, with the contender in it.
	Lock *inspect.Lock
	// Owner is the contender's name, or its digest.
	Owner inspect.Untrusted
	// Waiter allows deleting an owner that waits: some clients then believe that they hold the lock.
	Waiter bool
}

// Preview is what a release would do, told before it is done.
type Preview struct {
	Request Request
	// Seen is the contender that would be deleted; nil when it is not in the queue (see Refused).
	Seen *inspect.Contender
	// Next is who would get the lock; nil when nobody waits or waiters cannot be seen.
	Next *inspect.Contender
	// Refused is why it cannot be done; empty when it can.
	Refused Reason
	// Sends are the commands that would be sent, one line each, escaped for printing.
	Sends []string
	// Warnings in plain words: who keeps running, what may be granted twice.
	Warnings []string
}

// MasterResult is what became of the release on one Redis master.
type MasterResult struct {
	Addr    string
	Deleted bool
	Err     error
}

// Result is what a release did.
type Result struct {
	Released bool
	Reason   Reason
	Seen     *inspect.Contender
	Next     *inspect.Contender
	// HoldersAfter is who holds the lock after the release, read from the servers again.
	HoldersAfter []inspect.Contender
	// Masters has a result for each Redis master; empty on ZooKeeper.
	Masters []MasterResult
}

// ErrUnreachable is wrapped by the errors of a server that could not be asked.
var ErrUnreachable = errors.New("server could not be asked")

// Releaser force-releases locks of one backend.
type Releaser interface {
	// Preview reads the lock again and says what Execute would do. It changes nothing.
	Preview(ctx context.Context, r Request) (Preview, error)
	// Execute does what p shows, if the server still shows the contender that was seen. A refusal is a Result with
	// a Reason; an error means that a server could not be asked, and Result says what happened up to then.
	Execute(ctx context.Context, p Preview) (Result, error)
}
