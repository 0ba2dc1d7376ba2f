package render

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// The first waiter need not have waited longest, and several holders are counted as on the screen.
func TestCellsOfLocks(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	waiter := func(name inspect.Untrusted, waits time.Duration) inspect.Contender {
		return inspect.Contender{Name: name, State: inspect.Waiting, Since: now.Add(-waits)}
	}
	unfair := &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/l"}, Kind: inspect.KindSemaphore, Limit: 3, State: inspect.StateContended, ReadAt: now,
		Holders: []inspect.Contender{{Name: "a", State: inspect.Holding}, {Name: "b", State: inspect.Holding}},
		Waiters: []inspect.Contender{waiter("first", 2*time.Second), waiter("second", time.Minute)},
	}
	s := inspect.NewSnapshot(now, []*inspect.Backend{{Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected}}, []*inspect.Lock{unfair})
	got := make(map[string]string)
	for _, c := range lockColumns(viewOf(s), true) {
		got[c.head] = c.cell(unfair)
	}
	for head, want := range map[string]string{"LOCK": "zk:/l", "STATE": "contended", "HOLDER": "2 of 3 permits", "QUEUE": "2", "WAIT": "1m00s", "VOTES": "", "SESSION": ""} {
		must.Equal(t, got[head], want, head, "is")
	}
	must.Equal(t, len(lockColumns(viewOf(s), false)), 8, "permanent columns")
}

// The queue's cells read as on the screen: a permit's holder blocks an unknown number, and a watch
// on a later waiter is shown.
func TestQueueCellsOfShow(t *testing.T) {
	l := &inspect.Lock{
		Kind: inspect.KindSemaphore, Limit: 2,
		Holders: []inspect.Contender{{Name: "a", State: inspect.Holding}, {Name: "b", State: inspect.Holding}},
		Waiters: []inspect.Contender{{Name: "w", State: inspect.Waiting, Sequential: true, Sequence: 7}},
		Findings: []inspect.Finding{{
			Subject: inspect.Subject{Contender: "a"}, Evidence: map[string]any{"instead": "w"},
		}},
	}
	rows := queueTable(inspect.NewSnapshot(time.Now(), nil, []*inspect.Lock{l}), l).rows
	must.Same(t, rows[0][6:8], []string{"?", "⇢ 7"}, "the holder that watches the waiter")
	must.Same(t, rows[1][6:8], []string{"?", "–"}, "the other holder")
	must.Equal(t, rows[2][6], "–", "the waiter blocks")
}
