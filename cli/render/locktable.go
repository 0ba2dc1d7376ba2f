package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// LockTable returns the table of ls, at most width cells wide; 0 means no limit.
func LockTable(s *inspect.Snapshot, wide bool, order string, width int) string {
	columns := lockColumns(wide)
	if order == ByGrants {
		at := slices.IndexFunc(columns, func(c lockColumn) bool { return c.head == "QUEUE" })
		columns = slices.Insert(columns, at,
			lockColumn{column: column{head: "GRANTS", right: true, worth: 10}, cell: grants})
	}
	return table{
		columns: each.Of(columns, func(c lockColumn) column { return c.column }),
		rows: each.Of(InOrder(s, order), func(l *inspect.Lock) []string {
			return each.Of(columns, func(c lockColumn) string { return cmp.Or(c.cell(s, l), "–") })
		}),
	}.render(width)
}

// lockColumn is a column of the table of locks: its head and room, and what it says of a lock;
// empty: nothing.
type lockColumn struct {
	column
	wide bool // only in the wide table
	cell func(*inspect.Snapshot, *inspect.Lock) string
}

// lockColumns returns the columns of the table, or of the wide one.
func lockColumns(wide bool) []lockColumn {
	all := []lockColumn{
		{column: column{head: "LOCK", least: 24}, cell: of(func(l *inspect.Lock) string { return l.ID.String() })},
		{column: column{head: "STATE"}, cell: of(describe.State)},
		{column: column{head: "KIND", worth: 3}, cell: of(describe.KindOf)},
		{column: column{head: "LIBRARY", worth: 4}, cell: of(func(l *inspect.Lock) string { return l.Recipe })},
		{column: column{head: "HOLDER", least: 16}, cell: of(Holder)},
		{column: column{head: "HELD", right: true, worth: 9}, cell: holderAge},
		{column: column{head: "QUEUE", right: true, worth: 8}, cell: of(describe.QueueLength)},
		{column: column{head: "TTL", worth: 5}, cell: holderTTL},
		{wide: true, column: column{head: "VOTES", right: true, worth: 6}, cell: of(votes)},
		{wide: true, column: column{head: "VALID", worth: 2}, cell: validity},
		{wide: true, column: column{head: "SESSION", right: true, worth: 2}, cell: of(session)},
		{wide: true, column: column{head: "WAIT", right: true, worth: 2}, cell: longestWait},
		{
			wide: true, column: column{head: "SURE", worth: 1},
			cell: of(func(l *inspect.Lock) string { return string(l.Confidence) }),
		},
		{wide: true, column: column{head: "FINDING", worth: 7}, cell: of(worst)},
	}
	return slices.DeleteFunc(all, func(c lockColumn) bool { return c.wide && !wide })
}

// of is a cell that is the same whatever the time.
func of(f func(*inspect.Lock) string) func(*inspect.Snapshot, *inspect.Lock) string {
	return func(_ *inspect.Snapshot, l *inspect.Lock) string { return f(l) }
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

func holderAge(s *inspect.Snapshot, l *inspect.Lock) string {
	if len(l.Holders) == 0 {
		return ""
	}
	return age(s, l, &l.Holders[0])
}

func age(s *inspect.Snapshot, l *inspect.Lock, c *inspect.Contender) string {
	if d, ok := (describe.View{Snapshot: s, Now: s.TakenAt}).Since(l, c); ok {
		return describe.SignOf(d) + describe.Span(d.Duration)
	}
	return "–"
}

func holderTTL(s *inspect.Snapshot, l *inspect.Lock) string {
	switch {
	case len(l.Holders) == 0:
		return ""
	case l.Holders[0].NoExpiry:
		return "none"
	case l.Holders[0].ExpiresAt.IsZero():
		return ""
	default:
		return describe.Span(l.Holders[0].ExpiresAt.Sub(s.TakenAt))
	}
}

func votes(l *inspect.Lock) string {
	if len(l.Masters) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", l.Votes(), len(l.Masters))
}

func validity(s *inspect.Snapshot, l *inspect.Lock) string {
	if l.ValidUntil.IsZero() {
		return ""
	}
	return describe.Span(l.ValidUntil.Sub(s.TakenAt))
}

func session(l *inspect.Lock) string {
	if len(l.Holders) == 0 {
		return ""
	}
	return inspect.SessionID(l.Holders[0].Owner.Session)
}

// longestWait is the wait of the earliest waiter. In an unfair queue it need not be the first in
// line.
func longestWait(s *inspect.Snapshot, l *inspect.Lock) string {
	if d, ok := (describe.View{Snapshot: s, Now: s.TakenAt}).LongestWait(l); ok {
		return describe.SignOf(d) + describe.Span(d.Duration)
	}
	return ""
}
