package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// lockOrder is a sort order of ls, which lists the highest first and unknown values last. An age
// whose clock was not compared with ours counts as its minimum.
type lockOrder struct {
	name string
	of   func(*inspect.Snapshot, *inspect.Lock) int64 // negative: unknown
}

const ByGrants = "grants"

func lockOrders() []lockOrder {
	return []lockOrder{
		{"finding", func(_ *inspect.Snapshot, l *inspect.Lock) int64 {
			if f := describe.Worst(l.Findings); f != nil {
				return int64(f.Severity.Rank())
			}
			return -1
		}},
		{"held", func(s *inspect.Snapshot, l *inspect.Lock) int64 {
			if len(l.Holders) == 0 {
				return -1
			}
			return leastOf(viewOf(s).Since(l, &l.Holders[0]))
		}},
		{"queue", func(_ *inspect.Snapshot, l *inspect.Lock) int64 {
			if n := l.Waiting(); n > 0 || describe.QueueLength(l) != "?" {
				return int64(n)
			}
			return -1
		}},
		{"wait", func(s *inspect.Snapshot, l *inspect.Lock) int64 { return leastOf(viewOf(s).LongestWait(l)) }},
		{ByGrants, func(s *inspect.Snapshot, l *inspect.Lock) int64 {
			if h := s.History(l.ID); h != nil {
				return int64(h.Grants)
			}
			return -1
		}},
	}
}

func leastOf(age inspect.Age, known bool) int64 {
	if !known {
		return -1
	}
	return int64(age.Least)
}

// OrderNames returns the names of the sort orders of ls.
func OrderNames() []string { return each.Of(lockOrders(), func(o lockOrder) string { return o.name }) }

// InOrder returns the locks of a snapshot in the given order; empty means by name.
func InOrder(s *inspect.Snapshot, order string) []*inspect.Lock {
	locks := slices.Collect(s.Locks())
	at := slices.IndexFunc(lockOrders(), func(o lockOrder) bool { return o.name == order })
	if at < 0 {
		return locks
	}
	by := lockOrders()[at].of
	slices.SortStableFunc(locks, func(a, b *inspect.Lock) int { return cmp.Compare(by(s, b), by(s, a)) })
	return locks
}

// grants counts how often a lock was granted while it was watched; empty if it was not.
func grants(s *inspect.Snapshot, l *inspect.Lock) string {
	if h := s.History(l.ID); h != nil {
		return fmt.Sprint(h.Grants)
	}
	return ""
}
