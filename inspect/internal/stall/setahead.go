package stall

import (
	"sync"
	"time"

	"lockscope/internal/suspend"
)

// least is less than what counts as set: slewing moves a clock by less between two readings.
const least = time.Second / 2

// SetAhead is by how much our wall clock was set ahead between two readings (below zero: back): it went on by so much more than the
// monotonic one, and the machine was not suspended meanwhile. Where the system does not count suspensions (macOS) one looks
// the same, and so does on all systems what a virtual machine does not know of. Readings that have no monotonic part, as those of
// a recording, say 0.
func SetAhead(from, to time.Time) time.Duration {
	by := to.Round(0).Sub(from.Round(0)) - to.Sub(from)
	if from.IsZero() || by.Abs() < least {
		return 0
	}
	if by -= Slept(from, to); by.Abs() < least {
		return 0
	}
	return by
}

// Slept is for how long the machine was suspended between two readings, as far as the system counts that.
func Slept(from, to time.Time) time.Duration { return process.since(from, to) }

var process = newSleeps(suspend.Total)

const (
	// noise is less than what counts as a suspension: two clocks are read one after the other.
	noise = 5 * time.Millisecond
	// kept is the number of suspensions that are remembered one by one; the oldest are added to the next.
	kept = 64
)

// sleeps are the suspensions of the machine. Its methods may be called by any goroutine.
type sleeps struct {
	total func() time.Duration // since the machine's start

	mu    sync.Mutex
	known time.Duration // of the total
	of    []sleep       // oldest first
}

// sleep is one growth of the total, and the instant at which it was noticed.
type sleep struct {
	noticed time.Time
	long    time.Duration
}

func newSleeps(total func() time.Duration) *sleeps { return &sleeps{total: total, known: total()} }

// since is the suspension that was noticed after an instant. One that is noticed now was over when the clock was read, at to: who goes on
// from that reading does not count it again.
func (s *sleeps) since(from, to time.Time) (slept time.Duration) {
	if from == from.Round(0) {
		return 0 // of a recording
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if total := s.total(); total-s.known > noise {
		noticed := time.Now()
		if to.Before(noticed) {
			noticed = to
		}
		s.of = append(s.of, sleep{noticed, total - s.known})
		s.known = total
		if len(s.of) > kept {
			s.of[1].long += s.of[0].long
			s.of = s.of[1:]
		}
	}
	for i := len(s.of) - 1; i >= 0 && s.of[i].noticed.After(from); i-- {
		slept += s.of[i].long
	}
	return slept
}
