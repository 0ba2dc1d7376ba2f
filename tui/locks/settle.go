package locks

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// settleEvery is the minimum time between two changes of the order, and from the user's last move to
// the next change. Rows that move more often are hard to aim at.
const settleEvery = 10 * time.Second

// lineKept is how long a line stays after its lock is gone or its trouble is over, since either
// may return in a moment.
const lineKept = settleEvery

// lineKeptAgain replaces lineKept for a line that moved down recently, as when trouble recurs.
const lineKeptAgain = 20 * time.Second

// movesEvery tells users about settleEvery.
const movesEvery = "reordered every 10s"

// settleStart replaces settleEvery while the first order is preliminary.
const settleStart = 3 * time.Second

// settled reports whether every row and group is in its place.
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

// settle moves every row and group to its place. It removes lines of locks that have been gone
// for a while or that the filter hides. A lock whose findings are all muted moves at once. The pinned
// row is left for later, so that it does not jump when the cursor leaves it.
func (x *Index) settle(now time.Time) {
	pinned := x.pinned
	x.unpin()
	for id := range x.unsettled {
		r := x.at(id)
		if r == pinned {
			continue
		}
		kept := lineKept
		if now.Sub(r.sunkAt).Abs() < 2*lineKeptAgain {
			kept = lineKeptAgain
		}
		if r.goneAt.IsZero() && r.findings.muted > 0 && r.findings.critical+r.findings.warnings == 0 {
			kept = 0
		}
		if since := cmp.Or(r.goneAt, r.sankAt); !since.IsZero() && now.Sub(since).Abs() < kept {
			continue
		}
		x.remove(r)
		delete(x.unsettled, id)
		delete(x.gone, id)
		if r.gone() {
			continue
		}
		settled := *r
		if !r.sankAt.IsZero() {
			settled.sunkAt = now
		}
		settled.Key, settled.placed, settled.sankAt = r.next, r.shown, time.Time{}
		x.Rows[id] = &settled
		if settled.placed {
			x.place(&settled)
		}
	}
	for _, g := range x.groups {
		x.settleGroup(g)
	}
}

func (x *Index) settleGroup(g *lockGroup) {
	if worst := g.worst(); g.late || g.placed != worst {
		x.list.remove(g)
		g.placed, g.late = worst, false
		x.list.insert(g)
	}
}

// pin keeps a lock's row at a line until unpin, even if the lock is gone or the filter hides it.
// Rows in groups are not pinned.
func (x *Index) pin(id inspect.ID, at int) {
	x.unpin()
	if x.Grouped || id == (inspect.ID{}) {
		return
	}
	r := x.at(id)
	switch {
	case r == nil:
		r = &row{ID: id, placed: true, goneAt: time.Unix(0, 0)} // it has been gone for longer than lines are kept
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
	x.pinned, x.pinnedAt = r, at
}

// unpin moves the pinned row to its place in the order.
func (x *Index) unpin() {
	if r := x.pinned; r != nil {
		x.pinned = nil
		x.flat.insert(r)
	}
}

// pinnedLine is the line of the pinned row; -1 without one.
func (x *Index) pinnedLine() int {
	if x.pinned == nil {
		return -1
	}
	return min(x.pinnedAt, x.flat.count)
}

// rowsFrom returns up to n rows from a line on, without groups.
func (x *Index) rowsFrom(from, n int) []*row {
	pinned := x.pinnedLine()
	switch {
	case pinned < 0 || pinned >= from+n:
		return x.flat.slice(from, n)
	case pinned < from:
		return x.flat.slice(from-1, n)
	}
	out := append(slices.Clone(x.flat.slice(from, pinned-from)), x.pinned)
	return append(out, x.flat.slice(pinned, n-len(out))...)
}
