package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// lockOrder is an order of ls: the locks with the most first, unknown last. An age by a clock that
// was not compared with ours counts as the least it can be.
type lockOrder struct {
	name string
	of   func(*inspect.Snapshot, *inspect.Lock) (most int64, known bool)
}

// ByGrants is the order that needs a recording.
const ByGrants = "grants"

func lockOrders() []lockOrder {
	return []lockOrder{
		{"finding", func(_ *inspect.Snapshot, l *inspect.Lock) (int64, bool) {
			f := describe.Worst(l.Findings)
			if f == nil {
				return 0, false
			}
			return int64(f.Severity.Rank()), true
		}},
		{"held", func(s *inspect.Snapshot, l *inspect.Lock) (int64, bool) {
			if len(l.Holders) == 0 {
				return 0, false
			}
			d, ok := viewOf(s).Since(l, &l.Holders[0])
			return int64(d.Least), ok
		}},
		{"queue", func(_ *inspect.Snapshot, l *inspect.Lock) (int64, bool) {
			n := l.Waiting()
			return int64(n), n > 0 || describe.QueueLength(l) != "?"
		}},
		{"wait", func(s *inspect.Snapshot, l *inspect.Lock) (int64, bool) {
			d, ok := viewOf(s).LongestWait(l)
			return int64(d.Least), ok
		}},
		{ByGrants, func(s *inspect.Snapshot, l *inspect.Lock) (int64, bool) {
			h := s.History(l.ID)
			if h == nil {
				return 0, false
			}
			return int64(h.Grants), true
		}},
	}
}

// OrderNames returns the orders of ls.
func OrderNames() []string { return each.Of(lockOrders(), func(o lockOrder) string { return o.name }) }

// InOrder returns the locks of a snapshot in an order; empty means by name.
func InOrder(s *inspect.Snapshot, order string) []*inspect.Lock {
	locks := slices.Collect(s.Locks())
	at := slices.IndexFunc(lockOrders(), func(o lockOrder) bool { return o.name == order })
	if at < 0 {
		return locks
	}
	type ranked struct {
		lock  *inspect.Lock
		most  int64
		known bool
	}
	by := lockOrders()[at].of
	list := make([]ranked, len(locks))
	for i, l := range locks {
		most, known := by(s, l)
		list[i] = ranked{l, most, known}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		if a.known != b.known {
			if a.known {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.most, a.most)
	})
	for i := range list {
		locks[i] = list[i].lock
	}
	return locks
}

// grants counts how often a lock was granted while it was watched; empty where it was not.
func grants(s *inspect.Snapshot, l *inspect.Lock) string {
	if h := s.History(l.ID); h != nil {
		return fmt.Sprint(h.Grants)
	}
	return ""
}
