package inspect

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"lockscope/inspect/recipe"
)

// Identity of a contender across locks: a ZooKeeper session of a backend, or a process (or a thread of it, where its
// library names one) on Redis. Never a label: two processes may bear the same.
type Identity struct {
	backend string
	session int64

	library, host, pid, thread Untrusted
}

// Identity returns the identity behind a contender of a backend's lock; false when that is unknown.
func (c *Contender) Identity(backend string) (Identity, bool) {
	o := &c.Owner
	switch {
	case o.Session != 0:
		return Identity{backend: backend, session: o.Session}, true
	case o.LibraryID() != "":
		return Identity{library: o.LibraryID(), thread: o.Thread()}, true
	case o.Host() != "" && o.PID() != "":
		return Identity{host: o.Host(), pid: o.PID(), thread: o.Thread()}, true
	default:
		return Identity{}, false
	}
}

const (
	// maxCycles bounds how many cycles are reported, and searchFrom from how many owners of a component a shortest one is sought.
	maxCycles  = 100
	searchFrom = 200
	// sampledContenders show whether most are owners of their own, or a few are in many locks.
	sampledContenders = 1000
)

// findCycles finds the wait-for cycles among the owners of these locks: for each component of owners that wait for one
// another the shortest cycle in it. An owner that waits for itself is none. Elections are left out, since their
// candidates do other things meanwhile, and so are semaphores of several permits, where any holder may let a waiter in.
//
// Over ZooKeeper and Redis together a session and a client are one owner where something ties them; such a cycle has its Ties.
func findCycles(locks iter.Seq[*Lock]) []Cycle {
	var blocking []*Lock
	inZooKeeper, onRedis := false, false
	for l := range locks {
		if l.Blocks() {
			blocking = append(blocking, l)
			inZooKeeper, onRedis = inZooKeeper || len(l.Masters) == 0, onRedis || len(l.Masters) > 0
		}
	}
	cycles := cyclesOf(blocking, nil)
	if inZooKeeper && onRedis && len(findTies(slices.Values(blocking))) > 0 {
		// Of those who wait for nobody a name or a host may have another, and is nobody's then.
		for _, c := range cyclesOf(blocking, findTies(locks)) {
			if len(c.Ties) > 0 && len(cycles) < maxCycles {
				cycles = append(cycles, c)
			}
		}
	}
	slices.SortStableFunc(cycles, func(a, b Cycle) int { return slices.CompareFunc(a.Locks, b.Locks, ID.Compare) })
	return cycles
}

func cyclesOf(blocking []*Lock, ties ties) []Cycle {
	g := graph{nodes: make(map[Identity]int), drawn: make(map[[2]int]bool), ties: ties}
	known := make(map[ID]*Lock)
	for _, l := range cycleCandidates(blocking, ties) {
		known[l.ID] = l
		g.add(l)
	}
	lock := func(id ID) *Lock { return known[id] }
	var cycles []Cycle
	for _, component := range g.components() {
		if c := g.shortest(component); len(c.Owners) > 1 && len(cycles) < maxCycles {
			c.ties = ties
			c.Ties, c.Cheapest = c.tiesUsed(lock, ties), c.cheapest(lock)
			cycles = append(cycles, c)
		}
	}
	return cycles
}

// of is the identity of a contender: the session's, where it is tied to one.
func (t ties) of(l *Lock, c *Contender) (Identity, bool) {
	if t != nil {
		if who, ok := partyOf(l, c); ok {
			if s, tied := t[who]; tied {
				return s.session, true
			}
		}
	}
	return c.Identity(l.ID.Backend)
}

// Blocks reports whether who waits for the lock is kept by its holders. What is only possibly a lock blocks nobody: a
// registry of members looks like a queue.
func (l *Lock) Blocks() bool {
	return l.Waiting() > l.WaitersAtLeast && l.Confidence != recipe.Possible && !l.MutexOrPermits() && l.Kind != KindElection && (l.Kind != KindSemaphore || l.Limit == 1)
}

// cycleCandidates are the locks that a cycle may go through: at least two of its owners are in others of them, too. Most often
// there are none, and no graph is needed.
func cycleCandidates(blocking []*Lock, ties ties) []*Lock {
	type presence struct {
		lock *Lock // the first one it is in
		many bool
	}
	contenders := 0
	for _, l := range blocking {
		contenders += l.Contention()
	}
	seen := make(map[Identity]presence, min(contenders, sampledContenders))
	many, sampled := false, 0
	for _, l := range blocking {
		everyContender(l, func(c *Contender) {
			who, ok := ties.of(l, c)
			if !ok {
				return
			}
			if sampled++; sampled == sampledContenders && len(seen) > sampled/2 { // to grow it further would be half of the work
				all := make(map[Identity]presence, contenders)
				maps.Copy(all, seen)
				seen = all
			}
			switch p := seen[who]; {
			case p.lock == nil:
				seen[who] = presence{lock: l}
			case p.lock != l && !p.many:
				seen[who] = presence{lock: l, many: true}
				many = true
			}
		})
	}
	if !many {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(blocking), func(l *Lock) bool {
		in := make(map[Identity]bool, 2)
		everyContender(l, func(c *Contender) {
			if who, ok := ties.of(l, c); ok && len(in) < 2 && seen[who].many {
				in[who] = true
			}
		})
		return len(in) < 2
	})
}

// graph has a node for each owner and an edge from each waiter to those that block it.
type graph struct {
	nodes map[Identity]int
	names []string
	ids   []Identity
	edges [][]edge
	drawn map[[2]int]bool // from and to; one lock of several tells of a cycle
	ties  ties            // nil: none are known
}

type edge struct {
	to   int
	lock ID
}

func (g *graph) node(l *Lock, c *Contender) int {
	who, ok := g.ties.of(l, c)
	if !ok { // nobody else is known to be this one, but it may stand between two that are
		who = Identity{backend: l.ID.Backend, library: Untrusted(l.ID.Path), thread: c.Name, pid: "\x00"}
	}
	n, ok := g.nodes[who]
	if !ok {
		n = len(g.names)
		g.nodes[who] = n
		g.names = append(g.names, c.Who().String())
		g.ids = append(g.ids, who)
		g.edges = append(g.edges, nil)
	}
	return n
}

// add draws the edges of a lock. A waiter waits for the holders that exclude it and, in a queue, for the contenders
// before it up to the nearest exclusive one, which waits for the rest. Who is most likely gone waits for nobody, nor does
// anybody wait for it to be granted the lock.
func (g *graph) add(l *Lock) {
	queue := make([]*Contender, 0, l.Contention())
	everyContender(l, func(c *Contender) {
		if c.State == Holding || !c.Dead {
			queue = append(queue, c)
		}
	})
	for i := len(l.Holders); i < len(queue); i++ {
		w := queue[i]
		from := g.node(l, w)
		for j := range l.Holders {
			if h := queue[j]; h.Mode == recipe.Exclusive || w.Mode == recipe.Exclusive {
				g.connect(from, g.node(l, h), l.ID)
			}
		}
		if !w.Sequential {
			continue
		}
		for j := i - 1; j >= len(l.Holders); j-- {
			exclusive := queue[j].Mode == recipe.Exclusive
			if exclusive || w.Mode == recipe.Exclusive {
				g.connect(from, g.node(l, queue[j]), l.ID)
			}
			if exclusive {
				break
			}
		}
	}
}

// connect draws an edge, the first of several between the same two.
func (g *graph) connect(from, to int, lock ID) {
	if way := [2]int{from, to}; from != to && !g.drawn[way] {
		g.drawn[way] = true
		g.edges[from] = append(g.edges[from], edge{to, lock})
	}
}

// components are the strongly connected components of more than one node (Tarjan 1972), without recursion: a queue may be
// long.
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

// shortest is a shortest cycle through the nodes of a component, from its smallest lock on.
func (g *graph) shortest(component []int) Cycle {
	slices.SortFunc(component, func(a, b int) int { return cmp.Compare(g.names[a], g.names[b]) })
	in := make(map[int]bool, len(component))
	for _, n := range component {
		in[n] = true
	}
	var best Cycle
	for _, start := range component[:min(len(component), searchFrom)] {
		if c := g.around(start, in); len(c.Owners) > 0 && (len(best.Owners) == 0 || len(c.Owners) < len(best.Owners)) {
			best = c
		}
		if len(best.Owners) == 2 {
			break
		}
	}
	return best.rotated()
}

// around is a shortest way from a node to itself, breadth first.
func (g *graph) around(start int, in map[int]bool) Cycle {
	type step struct {
		from int
		lock ID
	}
	reached := make(map[int]step)
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		for _, e := range g.edges[n] {
			if _, again := reached[e.to]; again || !in[e.to] {
				continue
			}
			reached[e.to] = step{n, e.lock}
			if e.to != start {
				queue = append(queue, e.to)
				continue
			}
			var c Cycle
			for at := start; ; {
				s := reached[at]
				c.Owners, c.Locks = append(c.Owners, g.names[s.from]), append(c.Locks, s.lock)
				c.Identities = append(c.Identities, g.ids[s.from])
				if at = s.from; at == start {
					break
				}
			}
			slices.Reverse(c.Owners)
			slices.Reverse(c.Identities)
			slices.Reverse(c.Locks)
			return c
		}
	}
	return Cycle{}
}

// rotated is the same cycle, begun at its smallest lock.
func (c Cycle) rotated() Cycle {
	at := 0
	for i := range c.Locks {
		if c.Locks[i].Compare(c.Locks[at]) < 0 {
			at = i
		}
	}
	return Cycle{
		Locks:      append(slices.Clone(c.Locks[at:]), c.Locks[:at]...),
		Owners:     append(slices.Clone(c.Owners[at:]), c.Owners[:at]...),
		Identities: append(slices.Clone(c.Identities[at:]), c.Identities[:at]...),
	}
}
