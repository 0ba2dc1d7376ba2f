package zksource

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// The servers are asked twice in the shortest session, so that one that expires is seen without its client before.
func TestInquiriesFollowTheShortestSession(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]time.Duration{
		40 * time.Second: 10 * time.Second, 8 * time.Second: 4 * time.Second, time.Second: shortBeat, 0: 10 * time.Second,
	} {
		q := inquiries{usual: 10 * time.Second, askedAt: noon, askAt: noon.Add(time.Minute)}
		q.learn(map[int64]inspect.Session{7: {ID: 7, Timeout: timeout}, 8: {ID: 8, Timeout: time.Second}}, 8)
		if q.beat() != want || !q.askAt.Equal(noon.Add(want)) {
			t.Errorf("%v: %v, asks %v after", timeout, q.beat(), q.askAt.Sub(noon))
		}
	}
}
