// Package failpoint names the places in the locks and in the operator's actions where a pause hurts
// most. In a program that was built with the tag "failpoints", a campaign can stop any goroutine at
// these places. In other programs they do nothing.
package failpoint

// The places.
const (
	Created  = "created"  // the node is made, and not yet looked for in its queue
	Granted  = "granted"  // the lock is ours, and the caller does not know yet
	Renewing = "renewing" // the time to renew has come, and nothing was sent
	Renewed  = "renewed"  // it is renewed, and the next time not yet set
	Deleting = "deleting" // an action has looked again, and deletes what it saw
)
