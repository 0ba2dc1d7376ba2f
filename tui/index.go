package tui

import (
	"context"
	"slices"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// arrangement is how the locks are shown: in which order, which of them, and whether in groups.
type arrangement struct {
	order   order
	filter  filter
	grouped bool
}

// row is a lock in the table. It is replaced, never changed.
type row struct {
	lock *inspect.Lock
	rank describe.Level
	key  key
	// shown: the filter lets it through.
	shown bool
}

func (r *row) contended() bool { return len(r.lock.Waiters)+r.lock.WaitersAtLeast > 0 }

// index keeps all locks in an arrangement. A change costs as much as there are changes, whatever the number of locks.
type index struct {
	arrangement
	rows map[inspect.ID]*row
	// flat are the rows that are shown, in order; in groups, list are these, in order.
	flat   *sorted[*row]
	groups map[prefix]*lockGroup
	list   *sorted[*lockGroup]
	shown  int
	// Counts over all rows, shown or not.
	contended, critical, warnings int
}

// newIndex arranges all locks of a snapshot. It takes a while for very many, and ends early with its context.
func newIndex(ctx context.Context, s *inspect.Snapshot, a arrangement, now time.Time) *index {
	x := &index{arrangement: a, rows: make(map[inspect.ID]*row, s.Len()), groups: make(map[prefix]*lockGroup)}
	var shown []*row
	for l := range s.Locks() {
		if ctx.Err() != nil {
			break
		}
		r := x.row(probe{l, s, now})
		x.rows[l.ID] = r
		x.count(r, 1)
		if r.shown {
			shown = append(shown, r)
		}
	}
	slices.SortFunc(shown, a.order.compare)
	x.shown = len(shown)
	if !a.grouped {
		x.flat = newSorted(a.order.compare, shown)
		return x
	}
	members := make(map[prefix][]*row)
	for _, r := range shown {
		p := prefixOf(r.lock.ID)
		members[p] = append(members[p], r)
	}
	groups := make([]*lockGroup, 0, len(members))
	for p, rows := range members {
		g := &lockGroup{prefix: p, rows: newSorted(a.order.compare, rows)}
		for _, r := range rows {
			g.count(r, 1)
		}
		x.groups[p] = g
		groups = append(groups, g)
	}
	slices.SortFunc(groups, a.order.compareGroups)
	x.list = newSorted(a.order.compareGroups, groups)
	return x
}

func (x *index) row(p probe) *row {
	return &row{lock: p.Lock, rank: describe.LevelOf(p.Lock), key: x.order.key(p.Lock), shown: x.filter.match(p)}
}

// update takes over the locks that changed.
func (x *index) update(s *inspect.Snapshot, changed []inspect.ID, now time.Time) {
	for _, id := range changed {
		if old := x.rows[id]; old != nil {
			x.count(old, -1)
			x.take(old)
			delete(x.rows, id)
		}
		if l := s.Lock(id); l != nil {
			r := x.row(probe{l, s, now})
			x.rows[id] = r
			x.count(r, 1)
			x.put(r)
		}
	}
}

func (x *index) put(r *row) {
	if !r.shown {
		return
	}
	x.shown++
	if !x.grouped {
		x.flat.put(r)
		return
	}
	p := prefixOf(r.lock.ID)
	g := x.groups[p]
	if g == nil {
		g = &lockGroup{prefix: p, rows: newSorted(x.order.compare, nil)}
		x.groups[p] = g
	} else {
		x.list.take(g) // its place depends on what it counts
	}
	g.rows.put(r)
	g.count(r, 1)
	x.list.put(g)
}

func (x *index) take(r *row) {
	if !r.shown {
		return
	}
	x.shown--
	if !x.grouped {
		x.flat.take(r)
		return
	}
	g := x.groups[prefixOf(r.lock.ID)]
	x.list.take(g)
	g.rows.take(r)
	g.count(r, -1)
	if g.rows.count == 0 {
		delete(x.groups, g.prefix)
		return
	}
	x.list.put(g)
}

func (x *index) count(r *row, by int) {
	if r.contended() {
		x.contended += by
	}
	switch r.rank {
	case describe.LevelCritical:
		x.critical += by
	case describe.LevelWarning:
		x.warnings += by
	}
}
