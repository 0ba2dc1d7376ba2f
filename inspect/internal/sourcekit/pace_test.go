package sourcekit

import (
	"testing"
	"time"
)

func TestPaceNoticesASlowServerAndItsRecovery(t *testing.T) {
	var p Pace
	add := func(n int, took time.Duration) {
		for range n {
			p.Add(took)
		}
	}
	add(64, 2*time.Millisecond)
	add(640, 5*time.Millisecond)
	if p.Slow || p.P99 != 5*time.Millisecond || p.Start != 2*time.Millisecond {
		t.Errorf("slow at less than three times its start: %v, %v", p.P99, p.Start)
	}
	add(16, 7*time.Millisecond)
	if !p.Slow {
		t.Error("not slow at more than three times its start")
	}
	add(80, 2*time.Millisecond)
	if p.Slow {
		t.Error("still slow")
	}
}
