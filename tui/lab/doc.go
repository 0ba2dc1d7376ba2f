// Package lab is the screen for taking locks by hand, running contention on temporary locks, and
// injecting faults into a sandbox. Its Driver and Faults come from the caller.
package lab
