package inspect

import "time"

// search seeks wait-for cycles beside the observer's other work.
type search struct {
	now     func() time.Time
	found   chan []Cycle
	running bool
	began   time.Time
	next    time.Time
}

func newSearch(now func() time.Time) *search { return &search{now: now, found: make(chan []Cycle, 1)} }

// start begins a search unless one runs or the last was a moment ago.
func (s *search) start(locks *table) bool {
	if s.running || s.now().Before(s.next) {
		return false
	}
	s.running, s.began = true, s.now()
	shared := locks.share()
	go func() { s.found <- findCycles(shared.all()) }()
	return true
}

// done notes that what was found has been taken. The next search begins 250 ms after this one at the earliest, and so
// late that all of them take at most a twentieth of a core.
func (s *search) done() {
	s.running = false
	s.next = s.began.Add(max(250*time.Millisecond, 20*s.now().Sub(s.began)))
}

// wait waits for a search that runs.
func (s *search) wait() {
	if s.running {
		<-s.found
		s.running = false
	}
}
