package locks

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
)

// arrangement has the options of the table's order, filter and groups.
type arrangement struct {
	Order   order
	Filter  screen.Filter
	Grouped bool
}

// counts of findings. Muted ones are only counted as such.
type counts struct{ critical, warnings, muted int }

func countsOf(findings []inspect.Finding) (n counts) {
	for _, f := range findings {
		switch {
		case f.Muted != nil:
			n.muted++
		case f.Severity == inspect.Critical:
			n.critical++
		case f.Severity == inspect.Warning:
			n.warnings++
		}
	}
	return n
}

// row is a lock in the table. It is replaced, never changed. It does not keep the lock itself: the
// snapshot's lock is drawn, so that no old one stays in memory.
type row struct {
	ID   inspect.ID
	rank describe.Level
	// Key is the key that the row is sorted by, until the rows are settled; next is its newest key.
	Key, next key
	contended bool
	findings  counts
	// shown is set if the filter matches it, placed if it has a line. A row keeps its line until
	// the rows are settled, even if it should have none.
	shown, placed bool
	// goneAt is when its lock vanished, sankAt when it became less severe than its line suggests;
	// zero if not. Its line is kept for a while, since either may change back in a moment.
	goneAt, sankAt time.Time
	// sunkAt is when its line last moved down; zero if never.
	sunkAt time.Time
}

// gone reports whether the lock no longer exists.
func (r *row) gone() bool { return !r.goneAt.IsZero() }

// Index keeps all locks in an arrangement. The cost of an update depends on its changes, not on
// the number of locks.
type Index struct {
	arrangement
	Rows map[inspect.ID]*row
	// flat has the shown rows, in order. list has the groups, in order.
	flat   *sorted[*row]
	groups map[Prefix]*lockGroup
	list   *sorted[*lockGroup]
	Shown  int
	// unsettled are the new rows at the end, and the changed rows that are still at their old
	// places. gone are the rows of locks that no longer exist.
	unsettled map[inspect.ID]struct{}
	gone      map[inspect.ID]*row
	// pinned stays at line pinnedAt, regardless of order and filter; nil if no row is pinned. It
	// is not in flat.
	pinned   *row
	pinnedAt int
	// Counts over the rows that the filter matches.
	Contended int
	Findings  counts
}

// NewIndex arranges all locks of a snapshot. It may take a while, and stops early when ctx ends.
func NewIndex(ctx context.Context, s *inspect.Snapshot, a arrangement, now time.Time) *Index {
	x := &Index{
		arrangement: a, Rows: make(map[inspect.ID]*row, s.Len()), groups: make(map[Prefix]*lockGroup),
		unsettled: make(map[inspect.ID]struct{}), gone: make(map[inspect.ID]*row),
	}
	var shown []*row
	for l := range s.Locks() {
		if ctx.Err() != nil {
			break
		}
		r := x.row(screen.FilterSubject{Lock: l, Snapshot: s, Now: now})
		r.placed = r.shown
		x.Rows[l.ID] = r
		x.count(r, 1)
		if r.shown {
			shown = append(shown, r)
		}
	}
	slices.SortFunc(shown, a.Order.compare)
	x.Shown = len(shown)
	if !a.Grouped {
		x.flat = newSorted(a.Order.compare, shown)
		return x
	}
	members := make(map[Prefix][]*row)
	for _, r := range shown {
		p := prefixOf(r.ID)
		members[p] = append(members[p], r)
	}
	groups := make([]*lockGroup, 0, len(members))
	for p, rows := range members {
		g := &lockGroup{Prefix: p, rows: newSorted(a.Order.compare, rows)}
		for _, r := range rows {
			g.count(r, 1)
		}
		g.placed = g.worst()
		x.groups[p] = g
		groups = append(groups, g)
	}
	slices.SortFunc(groups, a.Order.compareGroups)
	x.list = newSorted(a.Order.compareGroups, groups)
	return x
}

func (x *Index) row(p screen.FilterSubject) *row {
	k := x.Order.column().key(p.Lock)
	return &row{
		ID: p.ID, rank: describe.LevelOf(p.Lock), Key: k, next: k,
		contended: p.Waiting() > 0, shown: x.Filter.Match(p), findings: countsOf(p.Findings),
	}
}

// update applies the changed locks. No line moves until the rows are settled: a changed row
// stays, even if its lock is gone, and a new one comes last. Only a lock that becomes critical
// rises at once.
func (x *Index) update(s *inspect.Snapshot, changed []inspect.ID, now time.Time) {
	for _, id := range changed {
		before := x.at(id)
		if before != nil && !before.gone() {
			x.count(before, -1)
		}
		delete(x.Rows, id)
		delete(x.gone, id)
		delete(x.unsettled, id)
		if l := s.Lock(id); l != nil {
			r := x.row(screen.FilterSubject{Lock: l, Snapshot: s, Now: now})
			x.Rows[id] = r
			x.count(r, 1)
			x.keepLine(before, r)
			if before != nil {
				r.sunkAt = before.sunkAt
			}
			if x.sinks(r) {
				r.sankAt = now
				if before != nil && !before.sankAt.IsZero() {
					r.sankAt = before.sankAt
				}
			}
			if r.rank == describe.LevelCritical && (before == nil || before.rank < r.rank) {
				x.rise(r)
			}
		} else if before != nil && before.placed {
			r := *before
			r.shown, r.goneAt = false, cmp.Or(before.goneAt, now)
			x.gone[id] = &r
			x.keepLine(before, &r)
		}
	}
}

// sinks reports whether the default order would move a row down, as after its queue empties.
func (x *Index) sinks(r *row) bool {
	return x.Order == order{by: byWorst} && r.placed && !r.Key.late && r.next.compare(r.Key) > 0
}

// at is a lock's row, even if the lock is gone; nil if none.
func (x *Index) at(id inspect.ID) *row {
	if r := x.Rows[id]; r != nil {
		return r
	}
	return x.gone[id]
}

// keepLine puts a row where it was before it changed, or at the end if it had no line.
func (x *Index) keepLine(before, r *row) {
	switch {
	case before != nil && before.placed:
		r.Key, r.placed = before.Key, true
		x.replace(before, r)
	case r.shown:
		r.Key, r.placed = key{late: true}, true
		x.place(r)
	}
	if r.placed && (!r.shown || r.Key != r.next) {
		x.unsettled[r.ID] = struct{}{}
	}
}

// rise moves a row to its place in the order by severity, unless the cursor is on it.
func (x *Index) rise(r *row) {
	if x.Order.column() != byWorst || !r.placed || !r.shown || x.pinned == r {
		return
	}
	x.remove(r)
	up := *r
	up.Key = r.next
	x.Rows[r.ID] = &up
	delete(x.unsettled, r.ID)
	x.place(&up)
	if x.Grouped {
		x.settleGroup(x.groups[prefixOf(r.ID)])
	}
}

// replace replaces the row that has the same key.
func (x *Index) replace(before, r *row) {
	switch {
	case x.pinned == before:
		x.pinned = r
	case !x.Grouped:
		x.flat.insert(r)
	default:
		g := x.groups[prefixOf(r.ID)]
		g.count(before, -1)
		g.rows.insert(r)
		g.count(r, 1)
	}
}

// place adds a line for a row.
func (x *Index) place(r *row) {
	if !x.Grouped {
		x.flat.insert(r)
		return
	}
	p := prefixOf(r.ID)
	g := x.groups[p]
	if g == nil {
		g = &lockGroup{Prefix: p, rows: newSorted(x.Order.compare, nil), late: r.Key.late}
		x.groups[p] = g
		x.list.insert(g)
	}
	g.rows.insert(r)
	g.count(r, 1)
}

// remove removes a row's line.
func (x *Index) remove(r *row) {
	if !x.Grouped {
		x.flat.remove(r)
		return
	}
	g := x.groups[prefixOf(r.ID)]
	g.rows.remove(r)
	g.count(r, -1)
	if g.rows.count == 0 {
		x.list.remove(g)
		delete(x.groups, g.Prefix)
	}
}

// count adds a row to the counts. by is 1, or -1 for a row that goes.
func (x *Index) count(r *row, by int) {
	if !r.shown {
		return
	}
	x.Shown += by
	if r.contended {
		x.Contended += by
	}
	x.Findings.critical += by * r.findings.critical
	x.Findings.warnings += by * r.findings.warnings
	x.Findings.muted += by * r.findings.muted
}
