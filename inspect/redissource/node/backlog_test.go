package node

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/push"

	"lockscope/inspect/internal/stall"
)

// listener is a tracking connection that took pushes of one key each, by a clock that the test moves, and a
// ping that was answered at first.
func listener(t *testing.T) (h *invalidations, clock *time.Time, pushed func(keys int)) {
	clock = new(time.Time)
	*clock = first
	now := func() time.Time { return *clock }
	m := New("a", redis.UniversalOptions{Addrs: []string{"a"}}, Settings{Timeout: 3 * time.Second, Now: now})
	m.stall = stall.New(now)
	ended, stop := context.WithCancel(t.Context())
	stop()
	m.stall.Start(ended)() // no beats but those of the test
	p := &Pusher{Master: m, began: first, Rate: Limit{Every: time.Millisecond, Burst: 2000}, Wanted: func(string) bool { return true }, News: func([]string) {}, Heard: func(time.Time) {}}
	p.pings.add(first)
	p.pings.next()
	h = &invalidations{Pusher: p, over: make(chan struct{})}
	return h, clock, func(keys int) {
		for i := range keys {
			if err := h.HandlePushNotification(t.Context(), push.NotificationHandlerContext{}, []any{"invalidate", []any{fmt.Sprint("lock:", i)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What had waited comes at once, and is no rate of changes: the limit is on the time in which it waited.
func TestABacklogIsNoRateOfChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		stood  bool          // by our fault
		late   time.Duration // of a ping that was sent at first + 1 s; zero: none
		keys   int           // of the backlog
		after  int           // the ping is answered, and so many come
		refuse bool
	}{
		"none":                          {keys: 1999},
		"too many at once":              {keys: 2100, refuse: true},
		"we stood still":                {stood: true, keys: 5000},
		"we stood still, and too many":  {stood: true, keys: 8000, refuse: true},
		"and as many once more":         {stood: true, keys: 5000, after: 1999},
		"and too many once more":        {stood: true, keys: 5000, after: 2100, refuse: true},
		"a late ping":                   {late: 4 * time.Second, keys: 5000},
		"a late ping, and too many":     {late: 4 * time.Second, keys: 8000, refuse: true},
		"a ping that is not late":       {late: 2 * time.Second, keys: 5100, refuse: true},
		"a late ping, and as many more": {late: 4 * time.Second, keys: 5000, after: 1999},
	} {
		h, clock, pushed := listener(t)
		*clock = first.Add(time.Second)
		if tt.late > 0 {
			h.pings.add(*clock)
		}
		switch {
		case tt.stood:
			*clock = first.Add(5 * time.Second)
		case tt.late > 0:
			for end := first.Add(time.Second + tt.late); clock.Before(end); h.Master.stall.Since(*clock) {
				*clock = clock.Add(time.Second)
			}
		}
		pushed(tt.keys)
		if tt.after > 0 {
			h.pings.add(clock.Add(time.Millisecond))
			*clock = clock.Add(time.Second)
			for { // also those of before
				if _, ok := h.pings.next(); !ok {
					break
				}
			}
			pushed(tt.after)
		}
		if h.isOver() != tt.refuse {
			t.Errorf("%s: refused %v", name, h.isOver())
		}
	}
}

// A connection that ends is reported, but for one that was lost since we stood still and comes back at once;
// one that is refused right after that is tried again soon.
func TestTheEndOfATrackingConnectionIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		stood, armed bool
		lived        time.Duration
		err          error
		said         bool
		rest         time.Duration
	}{
		"lost":                               {armed: true, lived: time.Hour, err: ErrLost, said: true, rest: time.Millisecond},
		"lost at once":                       {armed: true, err: ErrLost, said: true, rest: RetryEvery},
		"not made":                           {err: errors.New("refused"), said: true, rest: RetryEvery},
		"not made, after we stood still":     {stood: true, err: errors.New("refused"), said: true, rest: RetryEvery},
		"lost since we stood still":          {stood: true, armed: true, lived: time.Hour, err: ErrLost, rest: time.Millisecond},
		"refused":                            {armed: true, lived: time.Hour, err: Refusal{why: "too many"}, said: true, rest: rearmEvery},
		"refused right after we stood still": {stood: true, armed: true, lived: time.Hour, err: Refusal{why: "too many"}, said: true, rest: RetryEvery},
	} {
		h, clock, _ := listener(t)
		if tt.stood {
			*clock = first.Add(5 * time.Second)
		}
		if said, rest := h.afterLoss(clock.Add(-tt.lived), tt.armed, tt.err); said != tt.said || rest != tt.rest {
			t.Errorf("%s: told %v, rest %v", name, said, rest)
		}
	}
}
