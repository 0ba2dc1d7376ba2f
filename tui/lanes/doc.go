// Package lanes draws the waits and holds of a lock over a window of time: a lane a contender.
package lanes
