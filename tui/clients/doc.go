// Package clients is the screen of sessions and processes, with all that each holds and waits for, and of who waits for
// whom.
package clients
