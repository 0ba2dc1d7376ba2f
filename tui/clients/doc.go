// Package clients is the screen of sessions and processes, with all that each holds and waits for, and of the
// wait-for graph.
package clients
