package sourcekit

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
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
	if p.Slow || p.Quickest != 5*time.Millisecond || p.Start != 2*time.Millisecond {
		t.Errorf("slow at less than three times its start: %v, %v", p.Quickest, p.Start)
	}
	add(64, 7*time.Millisecond)
	must.True(t, p.Slow, "not slow at more than three times its start")
	add(16, 2*time.Millisecond)
	must.True(t, !p.Slow, "still slow")
}

// A program that waits for a processor sees most answers late, but some in time.
func TestPaceIgnoresOurOwnDelay(t *testing.T) {
	var p Pace
	for range 64 {
		p.Add(2 * time.Millisecond)
	}
	for i := range 640 {
		took := 200 * time.Millisecond
		if i%50 == 0 {
			took = 3 * time.Millisecond
		}
		if p.Add(took); p.Slow {
			t.Fatalf("slow after %d answers, of which some came in %v", i, p.Quickest)
		}
	}
}
