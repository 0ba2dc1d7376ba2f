package zksource

import (
	"time"
)

// NewHasty is New with short intervals.
func NewHasty(cfg Config) *Source {
	s := New(cfg)
	s.beats = beats{
		session: 6 * time.Second, identity: time.Second,
		poll: 50 * time.Millisecond, focused: 100 * time.Millisecond, others: 200 * time.Millisecond, doubtful: 200 * time.Millisecond,
		sweep: 500 * time.Millisecond,
	}
	return s
}

// NewPatient is NewHasty with a session that outlives long silences.
func NewPatient(cfg Config) *Source {
	s := NewHasty(cfg)
	s.beats.session = 30 * time.Second
	return s
}
