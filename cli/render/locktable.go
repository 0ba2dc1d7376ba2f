package render

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// LockTable returns the table of ls, at most width cells wide; 0 means no limit.
func LockTable(s *inspect.Snapshot, wide bool, order string, width int) string {
	columns := lockColumns(viewOf(s), wide)
	if order == ByGrants {
		at := slices.IndexFunc(columns, func(c lockColumn) bool { return c.head == "QUEUE" })
		cell := func(l *inspect.Lock) string { return grants(s, l) }
		columns = slices.Insert(columns, at, lockColumn{column{head: "ACQUIRED", right: true, worth: 10}, false, cell})
	}
	return table{
		columns: each.Of(columns, func(c lockColumn) column { return c.column }),
		rows: each.Of(InOrder(s, order), func(l *inspect.Lock) []string {
			return each.Of(columns, func(c lockColumn) string { return dash(c.cell(l)) })
		}),
	}.render(width)
}

func viewOf(s *inspect.Snapshot) describe.View { return describe.View{Snapshot: s, Now: s.TakenAt} }

// lockColumn is a column of the table of locks. cell returns its text about a lock; empty means
// that there is nothing to show.
type lockColumn struct {
	column
	wide bool // only in the wide table
	cell func(*inspect.Lock) string
}

// lockColumns returns the columns of the table, or of the wide one.
func lockColumns(view describe.View, wide bool) []lockColumn {
	held := func(l *inspect.Lock, h *inspect.Contender) string { return heldFor(view, l, h) }
	ttl := func(_ *inspect.Lock, h *inspect.Contender) string {
		if h.NoExpiry {
			return "none"
		}
		return until(view, h.ExpiresAt)
	}
	all := []lockColumn{
		{column{head: "LOCK", least: 24}, false, func(l *inspect.Lock) string { return l.ID.String() }},
		{column{head: "STATE"}, false, describe.State},
		{column{head: "KIND", worth: 3}, false, describe.KindOf},
		{column{head: "LIBRARY", worth: 4}, false, func(l *inspect.Lock) string { return l.Recipe }},
		{column{head: "HOLDER", least: 16}, false, Holder},
		{column{head: "HELD", right: true, worth: 9}, false, ofHolder(held)},
		{column{head: "QUEUE", right: true, worth: 8}, false, describe.QueueLength},
		{column{head: "TTL", worth: 5}, false, ofHolder(ttl)},
		{column{head: "VOTES", right: true, worth: 6}, true, votes},
		{column{head: "VALID", worth: 2}, true, func(l *inspect.Lock) string { return until(view, l.ValidUntil) }},
		{column{head: "SESSION", right: true, worth: 2}, true, ofHolder(session)},
		{column{head: "WAIT", right: true, worth: 2}, true, func(l *inspect.Lock) string { return longestWait(view, l) }},
		{column{head: "SURE", worth: 1}, true, func(l *inspect.Lock) string { return string(l.Confidence) }},
		{column{head: "FINDING", worth: 7}, true, worst},
	}
	return slices.DeleteFunc(all, func(c lockColumn) bool { return c.wide && !wide })
}

// ofHolder is a cell about a lock's first holder; empty without one.
func ofHolder(f func(*inspect.Lock, *inspect.Contender) string) func(*inspect.Lock) string {
	return func(l *inspect.Lock) string {
		if len(l.Holders) == 0 {
			return ""
		}
		return f(l, &l.Holders[0])
	}
}

// Holder names the holder of a lock, or says briefly why it is not held.
func Holder(l *inspect.Lock) string {
	if len(l.Holders) == 1 {
		return l.Holders[0].Who().String()
	}
	brief, _ := describe.Summary(l)
	return brief
}

// worst names a lock's worst finding.
func worst(l *inspect.Lock) string {
	f := describe.Worst(l.Findings)
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s", f.Severity, f.Rule)
}

// heldFor is how long a contender has held its lock, or a bound.
func heldFor(view describe.View, l *inspect.Lock, c *inspect.Contender) string {
	held := view.Held(l, c)
	if held.Known == describe.Unbounded {
		return "?"
	}
	return held.Known.Sign() + describe.Age(held.Duration)
}

// until is the time until an instant; empty if that is unknown.
func until(view describe.View, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return describe.Span(at.Sub(view.Now))
}

func votes(l *inspect.Lock) string {
	if len(l.Masters) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", l.Votes(), len(l.Masters))
}

func session(_ *inspect.Lock, c *inspect.Contender) string { return inspect.SessionID(c.Owner.Session) }

// longestWait is the wait of the earliest waiter. In an unfair queue another waiter may be first in
// line.
func longestWait(view describe.View, l *inspect.Lock) string {
	if d, ok := view.LongestWait(l); ok {
		return describe.Signed(d)
	}
	return ""
}

func dash(s string) string { return cmp.Or(s, "–") }
