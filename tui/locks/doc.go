// Package locks is the screen of all locks: a table that is sorted, filtered and grouped, and kept in order bit by bit
// while a hundred thousand of them change.
package locks
