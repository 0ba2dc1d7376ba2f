package redissource

import (
	"slices"
	"time"
)

// perKey is about what one key in a pipeline adds to its time: it is taken off, so that batches of any size compare.
const perKey = 5 * time.Microsecond

// pace notices that a master answers much more slowly than at the start: our reading may be what it suffers from.
type pace struct {
	recent [64]time.Duration
	n      int
	start  time.Duration // the 99th percentile of the first ones
	slow   bool
}

// add takes in how long a pipeline of that many keys took.
func (p *pace) add(took time.Duration, keys int) {
	p.recent[p.n%len(p.recent)] = max(0, took-time.Duration(keys)*perKey)
	p.n++
	if p.n < len(p.recent) || p.n%16 != 0 {
		return
	}
	sorted := p.recent
	slices.Sort(sorted[:])
	p99 := sorted[len(sorted)*99/100]
	if p.start == 0 {
		p.start = max(p99, time.Millisecond) // below that it is our own scheduler that shows
		return
	}
	p.slow = p99 > 3*p.start
}
