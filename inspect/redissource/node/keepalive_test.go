package node

import (
	"testing"
	"time"
)

func TestASilentConnectionIsLost(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		now, oldest, answered time.Duration // oldest: -1 for none
		want                  bool
	}{
		"every ping is answered":         {now: 3000 * ms, oldest: -1, answered: 2900 * ms},
		"a ping is late":                 {now: 1500 * ms, answered: 1200 * ms},
		"the server stands still":        {now: 9000 * ms, answered: 90 * ms},
		"it answered, asked before":      {now: 2500 * ms, answered: 900 * ms},
		"it answers elsewhere, not here": {now: 2000 * ms, answered: 1600 * ms, want: true},
	} {
		var oldest time.Time
		if tt.oldest >= 0 {
			oldest = first.Add(tt.oldest)
		}
		if got := lostInSilence(first.Add(tt.now), oldest, first.Add(tt.answered), time.Second); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
