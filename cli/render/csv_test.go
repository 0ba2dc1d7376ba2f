package render

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// Ages whose clock was not compared with ours are marked. Lists sorted by age use their lower
// bound.
func TestAgesByAnUnknownClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	lock := func(backend string, age time.Duration) *inspect.Lock {
		return &inspect.Lock{
			ID: inspect.ID{Backend: backend, Path: "/l"}, State: inspect.StateContended,
			Holders: []inspect.Contender{{Name: "h", Since: now.Add(-age), Czxid: 2}},
			Waiters: []inspect.Contender{{Name: "w", Since: now.Add(-age), Czxid: 3}},
		}
	}
	s := inspect.NewSnapshot(now, []*inspect.Backend{
		{Name: "guessed", Kind: inspect.ZooKeeper, Clock: inspect.LeaderClock{From: 1, Newest: now.Add(-59 * time.Minute)}},
		{Name: "known", Kind: inspect.ZooKeeper, Clock: inspect.LeaderClock{From: 1, Known: true}},
	}, []*inspect.Lock{lock("guessed", time.Hour), lock("known", 2*time.Minute)})
	for _, order := range []string{"held", "wait"} {
		rows := LocksCSV(s, InOrder(s, order))
		last := len(rows[0]) - 1
		if rows[0][last] != "ages_known" || rows[1][0] != "known:/l" || rows[1][last] != "true" || rows[2][last] != "false" || rows[2][10] != "3600000" {
			t.Errorf("by %s: %q", order, rows)
		}
	}
	for l := range s.Locks() {
		want := map[string]string{"guessed": "~1h00m ~1h00m", "known": "≤2m00s 2m00s"}[l.ID.Backend]
		must.Equal(t, heldFor(viewOf(s), l, &l.Holders[0])+" "+longestWait(viewOf(s), l), want, "held, and waited for")
	}
}

// Text that a spreadsheet would read as a formula is escaped.
func TestCSVEscapesFormulas(t *testing.T) {
	for text, want := range map[string]string{"=1+1": "'=1+1", "-2": "'-2", "@x": "'@x", "+x": "'+x", "a=b": "a=b", "": ""} {
		must.Equal(t, csvText(text), want, text)
	}
}
