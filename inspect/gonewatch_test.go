package inspect

import "testing"

func TestAWatchOnANodeThatIsGoneIsNamed(t *testing.T) {
	l := queueOf(t, "11 12 13")
	waiter, other := &l.Waiters[0], &l.Waiters[1]
	const left = "_c_0123456789abcdef0123456789abcdef-lock-0000000007"
	table := &WatchTable{Backend: "zk", Sessions: map[string][]int64{
		l.ID.Path + "/" + left:                {waiter.Owner.Session},
		l.ID.Path + "/config":                 {other.Owner.Session}, // no contender's name
		"/elsewhere/" + left:                  {other.Owner.Session},
		l.Node(waiter):                        {other.Owner.Session},
		l.ID.Path + "/" + "x-" + "0000000009": {4711}, // of nobody here
	}}
	holder := &l.Holders[0]
	table.Sessions[l.ID.Path+"/"+left] = append(table.Sessions[l.ID.Path+"/"+left], holder.Owner.Session)
	if !findGoneWatches(l, table) || holder.WatchesGone != "" {
		t.Errorf("of a holder by a table that is not settled: %q", holder.WatchesGone)
	}
	if table.ReadAt = l.ReadAt.Add(WatchSettle); !findGoneWatches(l, table) || holder.WatchesGone != left {
		t.Errorf("of a holder: %q", holder.WatchesGone)
	}
	if waiter.WatchesGone != left || other.WatchesGone != "" {
		t.Errorf("%q, %q", waiter.WatchesGone, other.WatchesGone)
	}
	if findGoneWatches(l, table) {
		t.Error("it is news again")
	}
	if table.Sessions = nil; !findGoneWatches(l, table) || waiter.WatchesGone != "" {
		t.Errorf("%q", waiter.WatchesGone)
	}
}
