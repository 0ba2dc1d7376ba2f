package inspect

import (
	"iter"
	"time"
)

// search looks through all locks, concurrently with the observer's other work.
type search[T any] struct {
	now     func() time.Time
	every   time.Duration
	found   chan T
	running bool
	began   time.Time
	next    time.Time
}

func newSearch[T any](now func() time.Time, every time.Duration) *search[T] {
	return &search[T]{now: now, every: every, found: make(chan T, 1)}
}

// start begins a search unless one runs or the last was a moment ago.
func (s *search[T]) start(locks *table, find func(iter.Seq[*Lock]) T) bool {
	if s.running || s.now().Before(s.next) {
		return false
	}
	s.running, s.began = true, s.now()
	shared := locks.share()
	go func() { s.found <- find(shared.all()) }()
	return true
}

// done records that the result has been taken. The next search begins at least every after the
// start of this one. All searches together use at most a twentieth of a core.
func (s *search[T]) done() {
	s.running = false
	s.next = s.began.Add(max(s.every, 20*s.now().Sub(s.began)))
}

// wait waits for a search that runs.
func (s *search[T]) wait() {
	if s.running {
		<-s.found
		s.running = false
	}
}
