//go:build unix

package campaign

import (
	"cmp"
	"math"
	"time"
)

// freeLimit limits how long a lock may be free while a live process waits for it, once all faults and
// their leftovers are gone (docs/locks.md).
const freeLimit = 2 * time.Second

// checkProgress looks for a span in which a lock was free although a contender waited.
func checkProgress(h *History, lock string, settling time.Duration, v *Verdict) {
	if h.healed == never {
		return
	}
	free := h.healed + int64(settling)
	holds := h.of(lock)
	for _, next := range holds {
		if next.Granted > free && h.overlooked(lock, holds, free, next.Granted, v) {
			return
		}
		end := next.Confirmed
		if end == never {
			end = next.Until()
		}
		if end == never {
			return
		}
		free = max(free, end)
	}
	h.overlooked(lock, holds, free, never, v)
}

// overlooked reports a contender that waited while the lock was free for too long.
func (h *History) overlooked(lock string, holds []*Hold, from, to int64, v *Verdict) bool {
	limit := from + int64(freeLimit)
	if from >= math.MaxInt64-int64(freeLimit) || to <= limit {
		return false
	}
	for _, list := range [][]*Hold{holds, h.Refused} {
		for _, w := range list {
			until := w.Granted
			until = cmp.Or(until, w.Ended)
			_, killed := h.Killed[w.Worker]
			// never: it is unknown for how long
			waited := w.Lock == lock && w.Called <= from && until >= limit && until != never
			if !waited || killed || h.stalled(w.Worker, from, limit) {
				continue
			}
			v.add("progress", lock, "it was free for over %v while worker %d (hold %d) waited for it",
				freeLimit, w.Worker, w.ID)
			return true
		}
	}
	return false
}
