// Package chain is the screen of one lock: its queue or its votes, what is wrong with it, and the last
// minutes. Its Pane stands beside the table of locks in a wide window.
package chain
