package sourcekit

import (
	"testing"
	"time"
)

// However long an answer was, the next request waits for at most a second.
func TestAPauseHasABound(t *testing.T) {
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

func TestBucketAllowsABurstAndThenItsRate(t *testing.T) {
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
