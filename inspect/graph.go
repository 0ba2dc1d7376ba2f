package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Identity of a contender across locks: a ZooKeeper session of a backend, or a process on Redis
// (or its thread, if the library names one). It is never a label, since two processes may share
// one.
type Identity struct {
	backend string
	session int64

	library, host, pid, thread Untrusted
}

// Identity returns the identity behind a contender of a backend's lock; false if that is unknown.
func (c *Contender) Identity(backend string) (Identity, bool) {
	o := &c.Owner
	switch {
	case o.Session != 0:
		return Identity{backend: backend, session: o.Session}, true
	case o.LibraryID != "":
		return Identity{library: o.LibraryID, thread: o.Thread}, true
	case o.Host != "" && o.PID != "":
		return Identity{host: o.Host, pid: o.PID, thread: o.Thread}, true
	default:
		return Identity{}, false
	}
}

// Labelled is a list key for contenders known only by a label. It proves nothing, since two
// processes may share a label.
func Labelled(backend string, label Untrusted) Identity {
	return Identity{backend: backend, library: label}
}

// graph has a node for each owner, and an edge from each waiter to each owner that blocks it.
type graph struct {
	nodes  map[deadlockOwner]int
	names  []string
	labels []string // the names without addresses
	ids    []Identity
	shared []bool // the owner may be several threads
	edges  [][]edge

	ties     ties      // nil if none are known
	now      time.Time // zero for a single look
	owner    func(Identity, *Contender) deadlockOwner
	isShared map[deadlockOwner]bool
}

// edge is a wait: on this lock, the waiter of one owner waits for the target of another.
type edge struct {
	from, to       int
	lock           *Lock
	waiter, target *Contender
}

// waitKey distinguishes an edge from all others.
type waitKey struct {
	lock           ID
	waiter, target Untrusted
}

func (e *edge) key() waitKey { return waitKey{e.lock.ID, e.waiter.Name, e.target.Name} }

// covered has the waits between owners that are already in a cycle.
type covered map[coveredWait]bool

type coveredWait struct {
	lock   ID
	waiter Untrusted
	to     int
}

func (e *edge) wait() coveredWait { return coveredWait{e.lock.ID, e.waiter.Name, e.to} }

// all reports whether all waits of a ring are already in cycles.
func (c covered) all(ring []edge) bool {
	return !slices.ContainsFunc(ring, func(e edge) bool { return !c[e.wait()] })
}

func (g *graph) node(l *Lock, c *Contender) int {
	var o deadlockOwner
	if who, ok := g.ties.of(l, c); ok {
		o = g.owner(who, c)
	} else { // a separate owner, since it may link two known ones
		o.who = Identity{backend: l.ID.Backend, library: Untrusted(l.ID.Path), thread: c.Name, pid: "\x00"}
	}
	n, ok := g.nodes[o]
	if !ok {
		n = len(g.names)
		g.nodes[o] = n
		g.names = append(g.names, c.Who().String())
		g.labels = append(g.labels, cmp.Or(c.Owner.Label, c.Who()).String())
		g.ids = append(g.ids, o.who)
		g.shared = append(g.shared, g.isShared[o])
		g.edges = append(g.edges, nil)
	}
	return n
}

// add adds the edges of a lock. A waiter waits for the holders that exclude it. In a queue it also
// waits for the contenders before it, up to the nearest exclusive one, which waits for the rest. A
// waiter that is most likely gone neither waits nor blocks others. A lock that just changed hands
// has no edges, since it is making progress.
func (g *graph) add(l *Lock) {
	if !slices.ContainsFunc(l.Holders, func(h Contender) bool { return g.settled(&h) }) {
		return
	}
	queue := make([]*Contender, 0, l.Contention())
	for c := range l.Contenders {
		if c.State == Holding || !c.Dead {
			queue = append(queue, c)
		}
	}
	for i := len(l.Holders); i < len(queue); i++ {
		w := queue[i]
		for _, h := range queue[:len(l.Holders)] {
			if h.Mode == recipe.Exclusive || w.Mode == recipe.Exclusive {
				g.connect(l, w, h)
			}
		}
		if !w.Sequential {
			continue
		}
		for j := i - 1; j >= len(l.Holders); j-- {
			exclusive := queue[j].Mode == recipe.Exclusive
			if exclusive || w.Mode == recipe.Exclusive {
				g.connect(l, w, queue[j])
			}
			if exclusive {
				break
			}
		}
	}
}

// settled reports whether a contender has been unchanged for long enough.
func (g *graph) settled(c *Contender) bool {
	return g.now.IsZero() || g.now.Sub(c.Seen) >= SettleFor
}

func (g *graph) connect(l *Lock, waiter, target *Contender) {
	if !g.settled(waiter) || !g.settled(target) {
		return
	}
	from, to := g.node(l, waiter), g.node(l, target)
	if from != to {
		g.edges[from] = append(g.edges[from], edge{from, to, l, waiter, target})
	}
}

// likely returns the graph without the owners that may be several threads.
func (g *graph) likely() *graph {
	part := *g
	part.edges = make([][]edge, len(g.edges))
	for n, edges := range g.edges {
		if !g.shared[n] {
			part.edges[n] = slices.DeleteFunc(slices.Clone(edges), func(e edge) bool { return g.shared[e.to] })
		}
	}
	return &part
}

// rings adds cycles to found: first the previous ones that still exist, then a short one through
// each wait that is in no cycle yet. left has the previous cycles that were not found again.
func (g *graph) rings(before []Cycle, covered covered, found [][]edge) (rings [][]edge, left []Cycle) {
	keep := func(ring []edge) {
		found = append(found, ring)
		for _, e := range ring {
			covered[e.wait()] = true
		}
	}
	edges := g.keyed(len(before))
	for _, c := range before {
		if ring := again(&c, edges); ring != nil {
			keep(ring)
		} else {
			left = append(left, c)
		}
	}
	for _, component := range g.components() {
		slices.SortFunc(component, func(a, b int) int { return cmp.Compare(g.names[a], g.names[b]) })
		in := make(map[int]bool, len(component))
		for _, n := range component {
			in[n] = true
		}
		for _, n := range component {
			for _, e := range g.edges[n] {
				if len(found) == maxCycles {
					return found, left
				}
				if !in[e.to] || covered[e.wait()] {
					continue
				}
				covered[e.wait()] = true
				ring := append([]edge{e}, g.path(e.to, n, in)...)
				if short := g.shortened(ring); len(short) == len(ring) || !covered.all(short) {
					keep(short)
				}
			}
		}
	}
	return found, left
}

// keyed returns all edges by their keys; nil if no cycles need to be looked up.
func (g *graph) keyed(cycles int) map[waitKey]edge {
	if cycles == 0 {
		return nil
	}
	edges := make(map[waitKey]edge)
	for _, list := range g.edges {
		for _, e := range list {
			edges[e.key()] = e
		}
	}
	return edges
}

// again finds the edges of a cycle; nil if the cycle is broken.
func again(c *Cycle, edges map[waitKey]edge) []edge {
	ring := make([]edge, len(c.waits))
	for i, key := range c.waits {
		e, ok := edges[key]
		if !ok {
			return nil
		}
		ring[i] = e
	}
	for i := range ring {
		if ring[i].to != ring[(i+1)%len(ring)].from {
			return nil
		}
	}
	return ring
}

// components returns the strongly connected components of more than one node (Tarjan 1972). It
// does not recurse, since a queue may be long.
func (g *graph) components() [][]int {
	type frame struct{ node, next int }
	order := make([]int, len(g.edges)) // 0: not visited
	low := make([]int, len(g.edges))
	onStack := make([]bool, len(g.edges))
	var stack []int
	var components [][]int
	visited := 0
	for root := range g.edges {
		if order[root] != 0 {
			continue
		}
		path := []frame{{node: root}}
		for len(path) > 0 {
			top := &path[len(path)-1]
			n := top.node
			if top.next == 0 {
				visited++
				order[n], low[n] = visited, visited
				stack, onStack[n] = append(stack, n), true
			}
			if top.next < len(g.edges[n]) {
				to := g.edges[n][top.next].to
				top.next++
				if order[to] == 0 {
					path = append(path, frame{node: to})
				} else if onStack[to] {
					low[n] = min(low[n], order[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1].node
				low[parent] = min(low[parent], low[n])
			}
			if low[n] == order[n] {
				at := slices.Index(stack, n)
				for _, m := range stack[at:] {
					onStack[m] = false
				}
				if len(stack)-at > 1 {
					components = append(components, slices.Clone(stack[at:]))
				}
				stack = stack[:at]
			}
		}
	}
	return components
}

// path is a shortest path between two nodes within a component, found breadth first.
func (g *graph) path(from, to int, in map[int]bool) []edge {
	reached := map[int]edge{}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, e := range g.edges[queue[0]] {
			if _, known := reached[e.to]; known || !in[e.to] || e.to == from {
				continue
			}
			reached[e.to] = e
			queue = append(queue, e.to)
		}
		if _, there := reached[to]; there {
			break
		}
	}
	var way []edge
	for at := to; at != from; at = way[len(way)-1].from {
		way = append(way, reached[at])
	}
	slices.Reverse(way)
	return way
}

// shortened skips the owners that a ring does not need: in a queue each waiter also waits for the
// holder.
func (g *graph) shortened(ring []edge) []edge {
	for i := range ring {
		turned := append(slices.Clone(ring[i:]), ring[:i]...)
		for at := len(turned) - 1; at > 1; at-- {
			if e, ok := g.shortcut(turned[0], turned[at].from); ok {
				return g.shortened(append([]edge{e}, turned[at:]...))
			}
		}
	}
	return ring
}

// shortcut finds the edge of the same wait to an owner further on.
func (g *graph) shortcut(of edge, to int) (edge, bool) {
	for _, e := range g.edges[of.from] {
		if e.lock == of.lock && e.waiter == of.waiter && e.to == to {
			return e, true
		}
	}
	return edge{}, false
}

// cycle describes a ring, starting at its smallest lock.
func (g *graph) cycle(ring []edge) Cycle {
	at := 0
	for i := range ring {
		if ring[i].lock.ID.Compare(ring[at].lock.ID) < 0 {
			at = i
		}
	}
	var c Cycle
	for i := range ring {
		e := &ring[(at+i)%len(ring)]
		c.Locks, c.Owners = append(c.Locks, e.lock.ID), append(c.Owners, g.names[e.from])
		c.Labels = append(c.Labels, g.labels[e.from])
		c.Identities, c.waits = append(c.Identities, g.ids[e.from]), append(c.waits, e.key())
		c.Shared = c.Shared || g.shared[e.from]
		for _, seen := range []time.Time{e.waiter.Seen, e.target.Seen} {
			if !g.now.IsZero() && seen.After(c.Since) {
				c.Since = seen
			}
		}
	}
	return c
}
