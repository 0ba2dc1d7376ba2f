// Package failpoint names the places in the locks and in the operator's actions where a pause hurts
// most. In a program that was built with the tag "failpoints", a campaign can stop any goroutine at
// these places. In other programs they do nothing.
package failpoint

// The places.
const (
	Created  = "created"  // the node exists, but has not been looked up in its queue
	Granted  = "granted"  // the lock is ours, but the caller does not know yet
	Renewing = "renewing" // renewal is due, but nothing has been sent
	Renewed  = "renewed"  // the lock is renewed, but the next renewal is not scheduled
	Deleting = "deleting" // an action has checked again, and is about to delete
)
