package tui

import (
	"testing"
	"time"

	"lockscope/inspect"
)

func TestFitting(t *testing.T) {
	for _, test := range []struct {
		oldest time.Duration
		want   time.Duration
	}{
		{5 * time.Second, 30 * time.Second}, {40 * time.Second, time.Minute}, {14 * time.Minute, 15 * time.Minute}, {26 * time.Hour, time.Hour},
	} {
		l := &inspect.Lock{Holders: []inspect.Contender{entry("a", test.oldest, test.oldest)}}
		if got := fitting(lanesOf(l, pastLock{}, noon), noon, leastWindow); got != test.want {
			t.Errorf("%v: %v, want %v", test.oldest, got, test.want)
		}
	}
}
