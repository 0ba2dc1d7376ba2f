package sourcekit

import "time"

// Stall notices that this process did not run for a while: it was stopped, or the machine slept. The zero Stall is ready.
type Stall struct{ last time.Time }

// Beat takes in that the process runs at an instant, and returns since when it did not if that is longer ago than limit. Call
// it more often than that. Of the two clocks in now the one counts that went further: the monotonic one goes on while the
// process is stopped, the wall clock also while the machine sleeps. (A wall clock that is set forward looks the same.)
func (s *Stall) Beat(now time.Time, limit time.Duration) (from time.Time, stalled bool) {
	from, s.last = s.last, now
	if from.IsZero() {
		return from, false
	}
	return from, max(now.Sub(from), now.Round(0).Sub(from.Round(0))) > limit
}
