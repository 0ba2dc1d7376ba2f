package sourcekit

import (
	"testing"
	"time"
)

func TestAStallIsNoticedOnce(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var s Stall
	for _, step := range []struct {
		after time.Duration
		from  time.Duration
		want  bool
	}{{0, 0, false}, {time.Second, 0, false}, {34 * time.Second, time.Second, true}, {35 * time.Second, 0, false}} {
		from, stalled := s.Beat(start.Add(step.after), 3*time.Second)
		if stalled != step.want || stalled && !from.Equal(start.Add(step.from)) {
			t.Errorf("after %v: %v since %v", step.after, stalled, from)
		}
	}
}

// While the machine sleeps the monotonic clock stands still, as it does on Linux.
func TestASleepingMachineIsNoticedByItsWallClock(t *testing.T) {
	var s Stall
	awake := time.Now()
	s.Beat(awake.Add(-time.Minute).Round(0), 3*time.Second) // a minute ago by the wall clock alone
	if _, stalled := s.Beat(awake, 3*time.Second); !stalled {
		t.Error("it was not noticed")
	}
}
