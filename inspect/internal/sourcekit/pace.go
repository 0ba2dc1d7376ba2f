package sourcekit

import (
	"slices"
	"time"
)

// Pace notices that a server answers much more slowly than at the start: our reading may be what it suffers from.
type Pace struct {
	// Slow: the 99th percentile of the last requests is over three times that of the first ones.
	Slow bool
	// P99 is that of the last requests, Start that of the first ones; zero while there were not enough.
	P99, Start time.Duration

	recent [64]time.Duration
	n      int
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
	p.P99 = sorted[len(sorted)*99/100]
	if p.Start == 0 {
		p.Start = max(p.P99, time.Millisecond) // below that it is our own scheduler that shows
		return
	}
	p.Slow = p.P99 > 3*p.Start
}
