package node

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/push"

	"github.com/lockscope/lockscope/internal/must"
)

// A master may push a burst of keys, and then as many as the rate allows.
func TestTooManyPushesAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		first, then int // keys, a second apart
		want        bool
	}{
		"a burst":                 {first: 2000},
		"more than a burst":       {first: 2001, want: true},
		"a burst, then the rate":  {first: 2000, then: 1000},
		"a burst, then more":      {first: 2000, then: 1001, want: true},
		"a little, then a burst":  {first: 1000, then: 2000},
		"a little, then too many": {first: 1000, then: 2001, want: true},
	} {
		clock, news := first, 0
		h := &invalidations{Pusher: &Pusher{
			Master: &Master{now: func() time.Time { return clock }}, Rate: Limit{Every: time.Millisecond, Burst: 2000},
			Wanted: func(string) bool { return true }, News: func(keys []string) { news += len(keys) },
		}}
		for range 2 {
			for i := range tt.first {
				message := []any{"invalidate", []any{fmt.Sprint("lock:", i)}}
				must.Succeed(t, h.HandlePushNotification(t.Context(), push.NotificationHandlerContext{}, message))
			}
			clock, tt.first, tt.then = clock.Add(time.Second), tt.then, 0
		}
		if h.over.Load() != tt.want || !tt.want && news == 0 {
			t.Errorf("%s: refused %v after %d keys", name, h.over.Load(), news)
		}
	}
}

func TestLimitAllowsBurstThenRate(t *testing.T) {
	l := Limit{Every: 50 * time.Millisecond, Burst: 3}
	var spent time.Time
	passed := 0
	for now := first; now.Before(first.Add(time.Second)); now = now.Add(time.Millisecond) {
		if !l.Ready(spent, now).After(now) {
			spent = l.Spend(spent, now, 1)
			passed++
		}
	}
	if passed < 22 || passed > 23 {
		t.Errorf("%d passed in a second, want the burst of 3 and 20 a second", passed)
	}
	spent = l.Spend(time.Time{}, first, 3)
	at := l.Ready(spent, first)
	if wait := at.Sub(first); wait != 50*time.Millisecond || l.Ready(spent, at).After(at) {
		t.Errorf("the next is ready after %v", wait)
	}
	must.Equal(t, (Limit{}).Ready(spent, first), first, "without a limit, the next is ready")
	must.Equal(t, l.Room(first.Add(-time.Hour), first), 3, "room for a full burst")
	must.Equal(t, l.Room(first.Add(51*time.Millisecond), first), 1, "room after two")
	must.Equal(t, l.Room(first.Add(time.Second), first), 0, "room after too many")
	if s := l.Slowed(); s.Every != 100*time.Millisecond || s.Burst != 2 {
		t.Errorf("slowed %+v", s)
	}
}
