package inspect

import "time"

// search seeks wait-for cycles beside the observer's other work.
type search struct {
	found   chan []Cycle
	running bool
	began   time.Time
	next    time.Time
}

func newSearch() *search { return &search{found: make(chan []Cycle, 1)} }

// start begins a search unless one runs or the last was a moment ago.
func (s *search) start(locks *table) bool {
	if s.running || time.Now().Before(s.next) {
		return false
	}
	s.running, s.began = true, time.Now()
	shared := locks.share()
	go func() { s.found <- findCycles(shared.all()) }()
	return true
}

// done notes that what was found has been taken. The next search begins 250 ms after this one at the earliest, and so
// late that all of them take at most a twentieth of a core.
func (s *search) done() {
	s.running = false
	s.next = s.began.Add(max(250*time.Millisecond, 20*time.Since(s.began)))
}

// wait waits for a search that runs.
func (s *search) wait() {
	if s.running {
		<-s.found
		s.running = false
	}
}
