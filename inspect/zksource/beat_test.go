package zksource

import (
	"testing"
	"time"

	"lockscope/inspect"
)

// The servers are asked twice in the shortest session that has something in a lock, and not for the sake of others.
func TestInquiriesFollowTheShortestSession(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		timeout time.Duration
		waits   bool
		want    time.Duration
	}{
		"long":              {40 * time.Second, true, 10 * time.Second},
		"short":             {8 * time.Second, true, 4 * time.Second},
		"very short":        {time.Second, true, soonest},
		"in no lock":        {time.Second, false, 10 * time.Second},
		"it is not told of": {0, true, 10 * time.Second},
	} {
		r := testRun(t, Config{})
		r.link = &link{}
		r.sessions = map[int64]inspect.Session{7: {ID: 7, Timeout: tt.timeout}}
		l := &inspect.Lock{}
		if tt.waits {
			l.Waiters = []inspect.Contender{{Owner: inspect.Owner{Session: 7}}}
		}
		r.askedAt, r.askAt = noon, noon.Add(time.Minute)
		r.shorten(l)
		if got := r.identityBeat(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if sooner := r.askAt.Before(noon.Add(time.Minute)); sooner != (r.shortest < 2*r.beats.identity) {
			t.Errorf("%s: asks at %v", name, r.askAt)
		}
	}
}
