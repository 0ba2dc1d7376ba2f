package screen

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

func TestLasted(t *testing.T) {
	at := fixture.Noon
	c := func(since, held time.Duration) *inspect.Contender {
		c := inspect.Contender{}
		if since > 0 {
			c.Since = fixture.Ago(since)
		}
		if held > 0 {
			c.HeldSince = fixture.Ago(held)
		}
		return &c
	}
	for _, test := range []struct {
		kind   inspect.EventKind
		c      *inspect.Contender
		want   time.Duration
		atMost bool
	}{
		{inspect.EventReleased, c(9*time.Second, 4*time.Second), 4 * time.Second, false},
		{inspect.EventExpired, c(9*time.Second, 0), 9 * time.Second, true},
		{inspect.EventEnded, c(0, 0), 0, true},
		{inspect.EventAcquired, c(9*time.Second, time.Second), 8 * time.Second, false},
		{inspect.EventHandover, c(9*time.Second, 0), 9 * time.Second, false},
		{inspect.EventGone, c(9*time.Second, 0), 9 * time.Second, false},
		{inspect.EventWaiting, c(9*time.Second, 0), 0, false},
	} {
		got, atMost := lasted(inspect.Event{Kind: test.kind, At: at, Contender: test.c}, 0)
		if got != test.want || atMost != test.atMost {
			t.Errorf("%s: %v, at most %v", test.kind, got, atMost)
		}
	}
	for _, kind := range []inspect.EventKind{inspect.EventReleased, inspect.EventHandover, inspect.EventGone} {
		e := inspect.Event{Kind: kind, At: at, Contender: c(9*time.Second, 0), Between: inspect.Interval{From: at.Add(-time.Minute), To: at}}
		if kind == inspect.EventReleased {
			e.Contender = c(9*time.Second, 4*time.Second)
		}
		if _, atMost := lasted(e, 0); !atMost {
			t.Errorf("%s at an unseen time: the length is exact", kind)
		}
	}
	if got, _ := lasted(inspect.Event{Kind: inspect.EventReleased, At: at, Contender: c(0, time.Second)}, 2*time.Second); got != 3*time.Second {
		t.Errorf("with a clock 2s ahead: %v", got)
	}
}
