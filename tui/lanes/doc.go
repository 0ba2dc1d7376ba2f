// Package lanes draws the waits and holds of a lock over a window of time, one lane per
// contender.
package lanes
