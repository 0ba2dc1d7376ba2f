// Package locks is the screen of all locks. Its table is sorted, filtered and grouped, and stays in
// order while a hundred thousand locks change.
package locks
