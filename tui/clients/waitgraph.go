package clients

import (
	"cmp"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// waitGraph holds the wait-for cycles and the blocking trees across locks.
type waitGraph struct {
	cycles []cycle
	trees  []blockingTree
	// blind lists the backends with unidentified contenders. A cycle through these stays
	// invisible.
	blind []blindSpot
	// below counts, for each lock, the waiters in locks that depend on it, directly or not.
	below map[inspect.ID]int
}

// cycle is a wait-for cycle: each link waits for the next, and the last for the first.
type cycle struct {
	links []link
	// cheapest is the link whose hold costs the least to free; -1 if no link holds anything.
	cheapest int
	// behind counts the waiters in the cycle's locks, and in locks that depend on them, outside
	// the cycle itself.
	behind int
	// tied is the evidence that a session and a Redis client are the same client. possibly is set
	// if they may be different.
	tied     string
	possibly bool
}

// link is one owner in a cycle: its hold of a lock that the previous link wants, and its own
// wait.
type link struct {
	// has may be a place in the queue instead of a hold.
	has, wants inspect.Entry
}

func (l link) holds() bool { return l.has.Contender.State == inspect.Holding }

// blockingTree lists several locks that wait for one holder. The first lock is the culprit's.
type blockingTree struct {
	rows []treeRow
	// waiting counts the waiters in these locks.
	waiting int
	// leftOut counts the locks that do not fit.
	leftOut int
}

// treeRow is a lock whose first holder waits for its parent, the nearest lock above with a depth
// of one less.
type treeRow struct {
	lock  *inspect.Lock
	depth int
}

// blindSpot counts a backend's contenders, and those whose owner is unknown.
type blindSpot struct {
	backend     string
	unknown, of int
}

// Limits of the drawing.
const (
	mostRings     = 20
	mostTrees     = 30
	rowsOfOneTree = 12
)

// buildWaitGraph finds the cycles and blocking trees in a snapshot.
func buildWaitGraph(s *inspect.Snapshot) *waitGraph {
	g := &waitGraph{}
	children := dependents(s)
	circling := make(map[inspect.ID]bool)
	for _, c := range s.Cycles() {
		for _, id := range c.Locks {
			circling[id] = true
		}
	}
	for _, c := range s.Cycles() {
		if r, ok := closeCycle(s, c); ok && len(g.cycles) < mostRings {
			r.countBehind(children, circling)
			g.cycles = append(g.cycles, r)
		}
	}
	slices.SortStableFunc(g.cycles, func(a, b cycle) int { return cmp.Compare(b.behind, a.behind) })
	parents := parentsOf(children)
	g.below = countBelow(children, parents, circling)
	g.trees = findBlockingTrees(s, children, parents, circling)
	g.blind = blindSpots(s)
	return g
}

// closeCycle looks up the entries of a cycle; false if the snapshot no longer has them.
func closeCycle(s *inspect.Snapshot, c inspect.Cycle) (cycle, bool) {
	n := len(c.Owners)
	r := cycle{cheapest: c.Cheapest.Owner, tied: c.TiedBy(), possibly: c.Certainty() == recipe.Possible}
	for i := range n {
		wanted, had := s.Lock(c.Locks[i]), s.Lock(c.Locks[c.Before(i)])
		if wanted == nil || had == nil {
			return cycle{}, false
		}
		wants, has := c.Wants(wanted, i), c.Has(had, i)
		if wants == nil || has == nil {
			return cycle{}, false
		}
		r.links = append(r.links, link{
			has: inspect.Entry{Lock: had, Contender: has}, wants: inspect.Entry{Lock: wanted, Contender: wants},
		})
	}
	if r.cheapest >= 0 && !r.links[r.cheapest].holds() {
		r.cheapest = -1
	}
	return r, n > 1
}

// countBehind counts the waiters behind a cycle that are not part of it.
func (r *cycle) countBehind(children map[inspect.ID][]*inspect.Lock, circling map[inspect.ID]bool) {
	for _, l := range r.links {
		walkDependents(l.wants.Lock, 0, children, circling, func(l *inspect.Lock, _ int) { r.behind += l.Waiting() })
	}
	r.behind = max(0, r.behind-len(r.links))
}

// dependents maps each lock to the contended locks whose first holder waits for it, the most
// contended first.
func dependents(s *inspect.Snapshot) map[inspect.ID][]*inspect.Lock {
	children := make(map[inspect.ID][]*inspect.Lock)
	for _, entries := range s.Owners() {
		for _, own := range inspect.Threads(entries) {
			heldUp(own, children)
		}
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b *inspect.Lock) int {
			return cmp.Or(cmp.Compare(b.Waiting(), a.Waiting()), a.ID.Compare(b.ID))
		})
	}
	return children
}

// heldUp adds the locks that one owner holds while it waits for another's.
func heldUp(own []inspect.Entry, children map[inspect.ID][]*inspect.Lock) {
	best, next := obstacles(own)
	if best.Lock == nil {
		return
	}
	mine := func(c *inspect.Contender) bool {
		return slices.ContainsFunc(own, func(e inspect.Entry) bool { return e.Contender == c })
	}
	for _, e := range own {
		l, in := e.Lock, best
		if len(l.Holders) == 0 || e.Contender != &l.Holders[0] || !l.Blocks() {
			continue
		}
		if l == in.Lock {
			in = next
		}
		if in.Lock != nil && !mine(in.Contender) { // else no other owner holds it up
			children[in.Lock.ID] = append(children[in.Lock.ID], l)
		}
	}
}

// obstacles returns the first holders of two locks that an owner waits for. best blocks the most
// contenders, as inspect.Snapshot.Culprit counts them. next blocks the most in the owner's other
// locks. Either may be empty.
func obstacles(entries []inspect.Entry) (best, next inspect.Entry) {
	for _, e := range entries {
		if e.Contender.State == inspect.Holding || e.Lock == best.Lock || len(e.Lock.Holders) == 0 || !e.Lock.Blocks() {
			continue
		}
		at := inspect.Entry{Lock: e.Lock, Contender: &e.Lock.Holders[0]}
		switch {
		case best.Lock == nil || at.Contender.BlockedBelow > best.Contender.BlockedBelow:
			best, next = at, best
		case next.Lock == nil || at.Contender.BlockedBelow > next.Contender.BlockedBelow:
			next = at
		}
	}
	return best, next
}

// walkDependents visits a lock and all its dependents except those in cycles, each after its
// parent.
func walkDependents(
	l *inspect.Lock, depth int, children map[inspect.ID][]*inspect.Lock, circling map[inspect.ID]bool,
	visit func(*inspect.Lock, int),
) {
	type step struct {
		lock  *inspect.Lock
		depth int
	}
	for stack := []step{{l, depth}}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit(at.lock, at.depth)
		for _, child := range slices.Backward(children[at.lock.ID]) {
			if !circling[child.ID] {
				stack = append(stack, step{child, at.depth + 1})
			}
		}
	}
}

// parentsOf maps each dependent to the lock that it depends on.
func parentsOf(children map[inspect.ID][]*inspect.Lock) map[inspect.ID]inspect.ID {
	parents := make(map[inspect.ID]inspect.ID)
	for id, list := range children {
		for _, child := range list {
			parents[child.ID] = id
		}
	}
	return parents
}

// countBelow counts the waiters below each lock with dependents.
func countBelow(
	children map[inspect.ID][]*inspect.Lock, parents map[inspect.ID]inspect.ID, circling map[inspect.ID]bool,
) map[inspect.ID]int {
	var order []*inspect.Lock // each after the one that it depends on
	for id, list := range children {
		if _, depends := parents[id]; depends && !circling[id] {
			continue
		}
		for _, child := range list {
			if !circling[child.ID] {
				walkDependents(child, 0, children, circling, func(l *inspect.Lock, _ int) { order = append(order, l) })
			}
		}
	}
	below := make(map[inspect.ID]int, len(children))
	for _, l := range slices.Backward(order) {
		below[parents[l.ID]] += l.Waiting() + below[l.ID]
	}
	return below
}

// findBlockingTrees finds the culprits that block several locks, the worst first.
func findBlockingTrees(
	s *inspect.Snapshot, children map[inspect.ID][]*inspect.Lock, parents map[inspect.ID]inspect.ID,
	circling map[inspect.ID]bool,
) []blockingTree {
	var list []blockingTree
	for id := range children {
		root := s.Lock(id)
		if root == nil || circling[id] {
			continue
		}
		if _, depends := parents[id]; depends {
			continue
		}
		var t blockingTree
		walkDependents(root, 0, children, circling, func(l *inspect.Lock, depth int) {
			t.waiting += l.Waiting()
			if len(t.rows) < rowsOfOneTree {
				t.rows = append(t.rows, treeRow{l, depth})
			} else {
				t.leftOut++
			}
		})
		if len(t.rows) > 1 {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b blockingTree) int {
		return cmp.Or(cmp.Compare(b.waiting, a.waiting), a.rows[0].lock.ID.Compare(b.rows[0].lock.ID))
	})
	return list[:min(len(list), mostTrees)]
}

// blindSpots counts the unidentified contenders.
func blindSpots(s *inspect.Snapshot) []blindSpot {
	var list []blindSpot
	for l := range s.Locks() {
		if n := len(list); n == 0 || list[n-1].backend != l.ID.Backend {
			list = append(list, blindSpot{backend: l.ID.Backend})
		}
		spot := &list[len(list)-1]
		for _, contenders := range [][]inspect.Contender{l.Holders, l.Waiters} {
			for i := range contenders {
				spot.of++
				if _, known := contenders[i].Identity(l.ID.Backend); !known {
					spot.unknown++
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(b blindSpot) bool { return b.unknown == 0 })
}
