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
		"very short":        {time.Second, true, shortBeat},
		"in no lock":        {time.Second, false, 10 * time.Second},
		"it is not told of": {0, true, 10 * time.Second},
	} {
		q := inquiries{usual: 10 * time.Second, shortest: 20 * time.Second}
		q.sessions = map[int64]inspect.Session{7: {ID: 7, Timeout: tt.timeout}}
		l := &inspect.Lock{}
		if tt.waits {
			l.Waiters = []inspect.Contender{{Owner: inspect.Owner{Session: 7}}}
		}
		q.askedAt, q.askAt = noon, noon.Add(time.Minute)
		q.shorten(l)
		if got := q.beat(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if sooner := q.askAt.Before(noon.Add(time.Minute)); sooner != (q.shortest < 2*q.usual) {
			t.Errorf("%s: asks at %v", name, q.askAt)
		}
	}
}
