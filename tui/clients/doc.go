// Package clients is the screen of sessions and processes with their holds and waits, and of the
// wait-for graph.
package clients
