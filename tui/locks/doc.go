// Package locks is the screen of all locks: a table that is sorted, filtered and grouped, and stays
// in order while a hundred thousand of them change.
package locks
