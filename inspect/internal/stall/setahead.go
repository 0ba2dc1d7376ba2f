package stall

import "time"

// SetAhead is by how much our wall clock went on more than the monotonic one between two readings (below zero: it was set back).
// While the machine sleeps only the wall clock goes on, on Linux and macOS, which looks the same. Readings that have no monotonic
// part, as those of a recording, say 0.
func SetAhead(from, to time.Time) time.Duration {
	by := to.Round(0).Sub(from.Round(0)) - to.Sub(from)
	if from.IsZero() || by.Abs() < time.Second/2 {
		return 0 // slewed, if at all
	}
	return by
}
