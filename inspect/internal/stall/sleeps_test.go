package stall

import (
	"testing"
	"time"
)

// A suspension of long ago is remembered as a part of a later one.
func TestSuspensionsAreAddedUp(t *testing.T) {
	var total time.Duration
	s := newSleeps(func() time.Duration { return total })
	began := time.Now()
	for range 3 * kept {
		total += time.Second
		s.since(began, time.Now())
	}
	if got := s.since(began, time.Now()); got != total || len(s.of) != kept {
		t.Errorf("%v of %v, in %d", got, total, len(s.of))
	}
}
