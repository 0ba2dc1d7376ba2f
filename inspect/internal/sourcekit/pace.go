package sourcekit

import (
	"slices"
	"time"
)

// Pace notices that a server answers much more slowly than at the start, perhaps because of our
// reads.
type Pace struct {
	// Slow means that even the quickest recent request took over three times as long as the
	// quickest early one. A slow server delays every answer; a program that waits for a processor
	// still gets some in time.
	Slow bool
	// Quickest is the shortest recent request, and Start the shortest early one. They are zero
	// while there were too few.
	Quickest, Start time.Duration

	recent [64]time.Duration
	n      int
}

// Add records the duration of a request.
func (p *Pace) Add(took time.Duration) {
	p.recent[p.n%len(p.recent)] = max(0, took)
	p.n++
	if p.n < len(p.recent) || p.n%16 != 0 {
		return
	}
	p.Quickest = slices.Min(p.recent[:])
	if p.Start == 0 {
		p.Start = max(p.Quickest, time.Millisecond) // below that our own scheduler decides
		return
	}
	p.Slow = p.Quickest > 3*p.Start
}
