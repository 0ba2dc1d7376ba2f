package timeline

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/lanes"
)

func TestFitting(t *testing.T) {
	for _, test := range []struct {
		oldest time.Duration
		want   time.Duration
	}{
		{5 * time.Second, 30 * time.Second}, {40 * time.Second, time.Minute}, {14 * time.Minute, 15 * time.Minute}, {26 * time.Hour, time.Hour},
	} {
		l := &inspect.Lock{Holders: []inspect.Contender{fixture.Entry("a", test.oldest, test.oldest)}}
		if got := lanes.Fitting(lanes.LanesOf(l, lanes.PastLock{}, fixture.Noon), fixture.Noon, leastWindow); got != test.want {
			t.Errorf("%v: %v, want %v", test.oldest, got, test.want)
		}
	}
}
