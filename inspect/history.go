package inspect

import "time"

// longestTTL is the longest time to live that a version of a lock shows.
func longestTTL(l *Lock) time.Duration {
	var longest time.Duration
	for _, m := range l.Masters {
		if !m.ExpiresAt.IsZero() {
			longest = max(longest, m.ExpiresAt.Sub(l.ReadAt))
		}
	}
	for i := range l.Holders {
		if at := l.Holders[i].ExpiresAt; !at.IsZero() {
			longest = max(longest, at.Sub(l.ReadAt))
		}
	}
	return longest
}
