package locks

import (
	"slices"
	"time"

	"lockscope/inspect"
)

// settleEvery is the least time between two changes of the order: rows that move more often cannot be aimed at.
const settleEvery = 5 * time.Second

// settled reports whether every row and group stands where the order puts it.
func (x *Index) settled() bool {
	if len(x.unsettled) > 0 {
		return false
	}
	for _, g := range x.groups {
		if g.late || g.placed != g.worst() {
			return false
		}
	}
	return true
}

// settle puts every row and group where the order wants it by now, and takes the lines of those away that are gone or that the
// filter does not show.
func (x *Index) settle() {
	x.release()
	for id := range x.unsettled {
		r := x.at(id)
		x.remove(r)
		if r.gone {
			continue
		}
		settled := *r
		settled.Key, settled.placed = r.next, r.shown
		x.Rows[id] = &settled
		if settled.placed {
			x.place(&settled)
		}
	}
	clear(x.unsettled)
	clear(x.gone)
	for _, g := range x.groups {
		if worst := g.worst(); g.late || g.placed != worst {
			x.list.remove(g)
			g.placed, g.late = worst, false
			x.list.insert(g)
		}
	}
}

// hold keeps a lock's row at a line until release, also when the lock is gone or the filter does not show it. Rows in groups
// are not held.
func (x *Index) hold(id inspect.ID, at int) {
	x.release()
	if x.Grouped || id == (inspect.ID{}) {
		return
	}
	r := x.at(id)
	switch {
	case r == nil:
		r = &row{ID: id, placed: true, gone: true}
		x.gone[id] = r
	case r.placed:
		x.flat.remove(r)
	default:
		kept := *r
		kept.placed = true
		r = &kept
		x.Rows[id] = r
	}
	if !r.shown {
		x.unsettled[id] = struct{}{}
	}
	x.held, x.heldAt = r, at
}

// release puts the row that is held where it stands in the order.
func (x *Index) release() {
	if r := x.held; r != nil {
		x.held = nil
		x.flat.insert(r)
	}
}

// heldLine is the line of the row that is held; -1 without one.
func (x *Index) heldLine() int {
	if x.held == nil {
		return -1
	}
	return min(x.heldAt, x.flat.count)
}

// rowsFrom are up to n rows from a line on, where there are no groups.
func (x *Index) rowsFrom(from, n int) []*row {
	held := x.heldLine()
	switch {
	case held < 0 || held >= from+n:
		return x.flat.slice(from, n)
	case held < from:
		return x.flat.slice(from-1, n)
	}
	out := append(slices.Clone(x.flat.slice(from, held-from)), x.held)
	return append(out, x.flat.slice(held, n-len(out))...)
}
