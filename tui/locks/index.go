package locks

import (
	"context"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/tui/screen"
)

// arrangement has the options of the table's order, filter and groups.
type arrangement struct {
	Order   order
	Filter  screen.Filter
	Grouped bool
}

// row is a lock in the table. It is replaced, never changed.
// It does not keep the lock itself: what is drawn is the snapshot's, and no old one stays in memory.
type row struct {
	ID        inspect.ID
	rank      describe.Level
	Key       key
	contended bool
	// shown: the filter lets it through.
	shown bool
}

// Index keeps all locks in an arrangement. A change costs as much as there are changes, whatever the number of locks.
type Index struct {
	arrangement
	Rows map[inspect.ID]*row
	// flat are the rows that are shown, in order; in groups, list are these, in order.
	flat   *sorted[*row]
	groups map[Prefix]*lockGroup
	list   *sorted[*lockGroup]
	Shown  int
	// Counts over all rows, shown or not.
	Contended, critical, Warnings int
}

// NewIndex arranges all locks of a snapshot. It takes a while for very many, and ends early with its context.
func NewIndex(ctx context.Context, s *inspect.Snapshot, a arrangement, now time.Time) *Index {
	x := &Index{arrangement: a, Rows: make(map[inspect.ID]*row, s.Len()), groups: make(map[Prefix]*lockGroup)}
	var shown []*row
	for l := range s.Locks() {
		if ctx.Err() != nil {
			break
		}
		r := x.row(screen.FilterSubject{Lock: l, Snapshot: s, Now: now})
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
		x.groups[p] = g
		groups = append(groups, g)
	}
	slices.SortFunc(groups, a.Order.compareGroups)
	x.list = newSorted(a.Order.compareGroups, groups)
	return x
}

func (x *Index) row(p screen.FilterSubject) *row {
	return &row{
		ID: p.ID, rank: describe.LevelOf(p.Lock), Key: x.Order.column().key(p.Lock),
		contended: len(p.Waiters)+p.WaitersAtLeast > 0, shown: x.Filter.Match(p),
	}
}

// update takes over the locks that changed.
func (x *Index) update(s *inspect.Snapshot, changed []inspect.ID, now time.Time) {
	for _, id := range changed {
		if old := x.Rows[id]; old != nil {
			x.count(old, -1)
			x.remove(old)
			delete(x.Rows, id)
		}
		if l := s.Lock(id); l != nil {
			r := x.row(screen.FilterSubject{Lock: l, Snapshot: s, Now: now})
			x.Rows[id] = r
			x.count(r, 1)
			x.insert(r)
		}
	}
}

func (x *Index) insert(r *row) {
	if !r.shown {
		return
	}
	x.Shown++
	if !x.Grouped {
		x.flat.insert(r)
		return
	}
	p := prefixOf(r.ID)
	g := x.groups[p]
	if g == nil {
		g = &lockGroup{Prefix: p, rows: newSorted(x.Order.compare, nil)}
		x.groups[p] = g
	} else {
		x.list.remove(g) // its place depends on what it counts
	}
	g.rows.insert(r)
	g.count(r, 1)
	x.list.insert(g)
}

func (x *Index) remove(r *row) {
	if !r.shown {
		return
	}
	x.Shown--
	if !x.Grouped {
		x.flat.remove(r)
		return
	}
	g := x.groups[prefixOf(r.ID)]
	x.list.remove(g)
	g.rows.remove(r)
	g.count(r, -1)
	if g.rows.count == 0 {
		delete(x.groups, g.Prefix)
		return
	}
	x.list.insert(g)
}

func (x *Index) count(r *row, by int) {
	if r.contended {
		x.Contended += by
	}
	switch r.rank {
	case describe.LevelCritical:
		x.critical += by
	case describe.LevelWarning:
		x.Warnings += by
	}
}
