package zksource

import (
	"testing"
	"time"
)

// However long an answer was, the next request waits for at most a second.
func TestAPauseHasABound(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	for _, halved := range []bool{false, true} {
		b := newBucket(1<<20, 1<<17)
		b.halved = halved
		b.spend(64 << 20)
		if wait := b.await(now); wait > time.Second+time.Millisecond {
			t.Errorf("halved %v: waits %v", halved, wait)
		}
	}
}
