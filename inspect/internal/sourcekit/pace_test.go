package sourcekit

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestPaceNoticesSlowdownAndRecovery(t *testing.T) {
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

// However long an answer was, the next request waits for at most a second.
func TestPauseLastsAtMostASecond(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for _, halved := range []bool{false, true} {
		b := NewBucket(1<<20, 1<<17)
		b.Halved = halved
		b.Spend(64 << 20)
		if wait := b.Await(now); wait > time.Second+time.Millisecond {
			t.Errorf("halved %v: waits %v", halved, wait)
		}
	}
}

func TestBucketAllowsBurstThenRate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	b := NewBucket(4, 4)
	passed := 0
	for ms := range 3001 {
		if b.Take(now.Add(time.Duration(ms)*time.Millisecond)) == 0 {
			passed++
		}
	}
	if passed != 4+12 {
		t.Errorf("%d in 3 s", passed)
	}
	if wait := b.Take(now.Add(3001 * time.Millisecond)); wait <= 0 || wait > 250*time.Millisecond {
		t.Errorf("wait %v", wait)
	}
}
