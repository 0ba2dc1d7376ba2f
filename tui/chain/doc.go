// Package chain is the screen of one lock: its queue or its votes, its problems, and the last
// minutes. In a wide window, its Pane is next to the table of locks.
package chain
