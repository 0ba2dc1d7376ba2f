package sourcekit

import (
	"slices"
	"time"
)

// Pace notices that a server answers much more slowly than at the start: our reading may be what it suffers from.
type Pace struct {
	// Slow: the 99th percentile of the last requests is over three times that of the first ones.
	Slow bool

	recent [64]time.Duration
	n      int
	start  time.Duration // the 99th percentile of the first ones
}

// Add takes in how long a request took.
func (p *Pace) Add(took time.Duration) {
	p.recent[p.n%len(p.recent)] = max(0, took)
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
	p.Slow = p99 > 3*p.start
}
