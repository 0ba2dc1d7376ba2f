package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestWatchOnDeletedNodeIsNamed(t *testing.T) {
	l := queueOf(t, "11 12 13")
	holder, waiter, other := &l.Holders[0], &l.Waiters[0], &l.Waiters[1]
	const left = "_c_0123456789abcdef0123456789abcdef-lock-0000000007"
	table := &WatchTable{Backend: "zk", Sessions: map[string][]int64{
		l.ID.Path + "/" + left:                {waiter.Owner.Session, holder.Owner.Session},
		l.ID.Path + "/config":                 {other.Owner.Session}, // not a contender's name
		"/elsewhere/" + left:                  {other.Owner.Session},
		l.Node(waiter):                        {other.Owner.Session},
		l.ID.Path + "/" + "x-" + "0000000009": {4711}, // a session without a contender
	}}
	finds := func(table *WatchTable, changed bool, want ...Untrusted) {
		t.Helper()
		must.Equal(t, findGoneWatches(l, table), changed, "changed")
		must.Same(t, []Untrusted{holder.WatchesGone, waiter.WatchesGone, other.WatchesGone}, want)
	}
	finds(table, true, "", left, "") // for the holder, the table must have settled
	table.ReadAt = l.ReadAt.Add(WatchSettle)
	finds(table, true, left, left, "")
	finds(table, false, left, left, "")
	finds(&WatchTable{Backend: "zk"}, true, left, "", "")
	must.Equal(t, (&WatchTable{Unheard: []int64{11, 12}}).Lacks(l), 1, "waiters whose watches are unknown")
	must.Equal(t, (*WatchTable)(nil).Lacks(l), 0, "without a table")
}

// Comparing a lock with the table of all watches costs only the lock's own watches. Comparing with
// all took 8 s for 5,000 locks with four watches each.
func TestWatchComparisonReadsOnlyOwnWatches(t *testing.T) {
	const some, many = 20, 5000
	tableOf := func(locks int) *WatchTable {
		table := &WatchTable{Backend: "zk", ReadAt: now, Sessions: make(map[string][]int64, 4*locks)}
		for i := range locks {
			l := curatorLock(i, 0)
			for w := range l.Waiters[:4] {
				c := &l.Waiters[w]
				table.Sessions[l.Predecessor(c)] = []int64{c.Owner.Session}
			}
		}
		return table
	}
	quickest := func(table *WatchTable) time.Duration {
		least := time.Hour
		for range 10 {
			locks := make([]*Lock, some)
			for i := range locks {
				locks[i] = curatorLock(i, 0)
			}
			began := time.Now()
			for _, l := range locks {
				confirmWatches(l, table)
			}
			least = min(least, time.Since(began))
			must.Same(t, watchesOf(locks[0])[3:5], []Confirmation{Confirmed, Unconfirmed}, "watches")
		}
		return least
	}
	if small, large := quickest(tableOf(some)), quickest(tableOf(many)); large > 20*small {
		t.Errorf("a table of %d watches takes %v, one of %d takes %v", 4*some, small, 4*many, large)
	}
}
