package inspect

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

const (
	// maxCycles bounds the reported cycles, and so the work of a search.
	maxCycles = 100
	// rememberOwners is how long a search remembers that a session serves several threads.
	rememberOwners = 10 * time.Minute
)

// deadlockOwner is a client for deadlock search: an identity, or one label of a session whose
// entries have several.
type deadlockOwner struct {
	who   Identity
	label Untrusted
}

// deadlockSearch finds wait-for cycles repeatedly. It keeps the cycles that still exist, and
// remembers which sessions serve several threads, so that it judges a cycle the same way each
// time.
type deadlockSearch struct {
	found    []Cycle
	labelled map[Identity]time.Time      // sessions with several labels
	threads  map[deadlockOwner]time.Time // owners that were seen to be several threads
}

// findCycles finds the cycles of a single look.
func findCycles(locks iter.Seq[*Lock]) []Cycle { return new(deadlockSearch).find(locks, time.Time{}) }

// find finds the wait-for cycles among the owners of these locks, so that each wait that closes a
// cycle is in one of them. The likely ones come first, the oldest first. An owner that waits for
// itself does not count. Elections are left out, since their candidates do other things meanwhile.
// So are semaphores of several permits, where any holder may let a waiter in. Only entries
// unchanged for SettleFor count, unless now is zero.
//
// Across ZooKeeper and Redis, a session and a client are one owner if something ties them; such a
// cycle has Ties.
func (s *deadlockSearch) find(locks iter.Seq[*Lock], now time.Time) []Cycle {
	var blocking []*Lock
	inZooKeeper, onRedis := false, false
	for l := range locks {
		if l.Blocks() {
			blocking = append(blocking, l)
			inZooKeeper, onRedis = inZooKeeper || len(l.Masters) == 0, onRedis || len(l.Masters) > 0
		}
	}
	cycles := s.search(blocking, locks, nil, now)
	if inZooKeeper && onRedis && len(findTies(slices.Values(blocking))) > 0 {
		// Uncontended locks count too: one of their owners may have the same name or host.
		for _, c := range s.search(blocking, locks, findTies(locks), now) {
			if len(c.Ties) > 0 && len(cycles) < maxCycles {
				cycles = append(cycles, c)
			}
		}
	}
	slices.SortStableFunc(cycles, func(a, b Cycle) int {
		return cmp.Or(compareBools(a.Shared, b.Shared), a.Since.Compare(b.Since),
			slices.CompareFunc(a.Locks, b.Locks, ID.Compare))
	})
	s.found = cycles
	maps.DeleteFunc(s.labelled, func(_ Identity, at time.Time) bool { return now.Sub(at) > rememberOwners })
	maps.DeleteFunc(s.threads, func(_ deadlockOwner, at time.Time) bool { return now.Sub(at) > rememberOwners })
	return cycles
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (s *deadlockSearch) search(blocking []*Lock, all iter.Seq[*Lock], ties ties, now time.Time) []Cycle {
	candidates, repeated := cycleCandidates(blocking, ties)
	if len(candidates) == 0 {
		return nil
	}
	g := graph{
		nodes: make(map[deadlockOwner]int), ties: ties, now: now, owner: s.owner,
		isShared: s.learn(all, repeated, ties, now),
	}
	known := make(map[ID]*Lock)
	for _, l := range candidates {
		known[l.ID] = l
		g.add(l)
	}
	before := slices.DeleteFunc(slices.Clone(s.found), func(c Cycle) bool { return (len(c.Ties) > 0) != (ties != nil) })
	covered := make(covered)
	rings, before := g.likely().rings(before, covered, nil)
	if slices.Contains(g.shared, true) {
		rings, _ = g.rings(before, covered, rings)
	}
	lock := func(id ID) *Lock { return known[id] }
	cycles := make([]Cycle, len(rings))
	for i, ring := range rings {
		c := g.cycle(ring)
		c.Ties, c.Cheapest = c.tiesUsed(lock, ties), c.cheapest(lock)
		cycles[i] = c
	}
	return cycles
}

// owner distinguishes the threads of a session by their labels, if it was ever seen with several.
func (s *deadlockSearch) owner(who Identity, c *Contender) deadlockOwner {
	if _, several := s.labelled[who]; several {
		return deadlockOwner{who, c.Owner.Label}
	}
	return deadlockOwner{who: who}
}

// learn looks at all entries of the owners that have several, and returns the owners that may be
// several threads. A cycle through them may not be a deadlock.
func (s *deadlockSearch) learn(
	all iter.Seq[*Lock], repeated map[Identity]bool, ties ties, now time.Time,
) map[deadlockOwner]bool {
	entries := make(map[Identity][]Entry)
	for l := range all {
		for c := range l.Contenders {
			if who, _ := ties.of(l, c); repeated[who] && (c.State == Holding || !c.Dead) {
				entries[who] = append(entries[who], Entry{l, c})
			}
		}
	}
	if s.labelled == nil {
		s.labelled, s.threads = make(map[Identity]time.Time), make(map[deadlockOwner]time.Time)
	}
	shared := make(map[deadlockOwner]bool)
	for who, list := range entries {
		if severalLabels(list) {
			s.labelled[who] = now
		}
		own := make(map[deadlockOwner][]Entry)
		for _, e := range list {
			o := s.owner(who, e.Contender)
			own[o] = append(own[o], e)
		}
		_, labelled := s.labelled[who]
		for o, list := range own {
			if severalThreads(list) {
				s.threads[o] = now
			}
			_, several := s.threads[o]
			named := who.thread != "" || o.label != ""
			shared[o] = several || !named && (labelled || len(list) > 2)
		}
	}
	return shared
}

// severalLabels reports whether the entries of a session have several labels.
func severalLabels(entries []Entry) bool {
	first := Untrusted("")
	for _, e := range entries {
		switch label := e.Contender.Owner.Label; {
		case label == "" || e.Contender.Owner.Session == 0:
		case first == "":
			first = label
		case label != first:
			return true
		}
	}
	return false
}

// severalThreads reports whether these entries cannot belong to one thread, which waits for one
// lock at a time and makes no other entry meanwhile.
func severalThreads(entries []Entry) bool {
	var wait Entry
	for _, e := range entries {
		if e.Contender.State == Holding || !e.Lock.Blocks() {
			continue
		}
		if wait.Contender != nil {
			return true
		}
		wait = e
	}
	return wait.Contender != nil && wait.Contender.Czxid != 0 && slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Lock.ID.Backend == wait.Lock.ID.Backend && e.Lock.Kind != KindElection &&
			e.Contender.Czxid > wait.Contender.Czxid
	})
}

// of returns the identity of a contender, or of the session that it is tied to.
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

// Blocks reports whether the lock's holders block its waiters. A merely possible lock blocks no
// client: a registry of members looks like a queue.
func (l *Lock) Blocks() bool {
	return l.Waiting() > l.WaitersAtLeast && l.Confidence != recipe.Possible && l.Kind != KindElection &&
		(l.Kind != KindSemaphore || l.Limit == 1)
}

// cycleCandidates returns the locks that a cycle may go through: at least two of their entries
// have owners with entries elsewhere. It also returns the owners that have several entries.
// Usually there are none, and no graph is needed.
func cycleCandidates(blocking []*Lock, ties ties) (candidates []*Lock, repeated map[Identity]bool) {
	contenders := 0
	for _, l := range blocking {
		contenders += l.Contention()
	}
	repeated = make(map[Identity]bool, contenders) // false: seen once
	any := false
	for _, l := range blocking {
		for c := range l.Contenders {
			if who, ok := ties.of(l, c); ok {
				_, again := repeated[who]
				repeated[who], any = again, any || again
			}
		}
	}
	if !any {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(blocking), func(l *Lock) bool {
		entries := 0
		for c := range l.Contenders {
			if who, ok := ties.of(l, c); ok && repeated[who] {
				entries++
			}
		}
		return entries < 2
	}), repeated
}

// Elsewhere lists the other locks of a snapshot that the owner of a contender holds and waits for.
// known is false if the owner is unknown.
func (s *Snapshot) Elsewhere(id ID, c *Contender) (holds, waits []ID, known bool) {
	who, known := c.Identity(id.Backend)
	same := s.likelyTies()
	if l := s.Lock(id); l != nil {
		who, known = same.of(l, c)
	}
	if !known {
		return nil, nil, false
	}
	for l := range s.Locks() {
		if l.ID == id {
			continue
		}
		is := func(o Contender) bool { other, ok := same.of(l, &o); return ok && other == who }
		if slices.ContainsFunc(l.Holders, is) {
			holds = append(holds, l.ID)
		}
		if slices.ContainsFunc(l.Waiters, func(c Contender) bool { return !c.Dead && is(c) }) {
			waits = append(waits, l.ID)
		}
	}
	return holds, waits, true
}

func (s *Snapshot) likelyTies() ties {
	found := findTies(s.Locks())
	maps.DeleteFunc(found, func(_ Identity, t tied) bool { return t.tie.Certainty == recipe.Possible })
	return found
}

// DeadlockWithout reports whether a lock is in a deadlock. then reports whether its owners would
// still wait for each other if that contender were gone and the next in line held the lock.
func (s *Snapshot) DeadlockWithout(id ID, gone *Contender) (now, then bool) {
	l := s.Lock(id)
	if l == nil {
		return false, false
	}
	var cyclic []ID
	for _, c := range findCycles(s.Locks()) {
		if slices.Contains(c.Locks, id) {
			cyclic = append(cyclic, c.Locks...)
		}
	}
	if len(cyclic) == 0 {
		return false, false
	}
	for _, c := range findCycles(s.With(l.without(gone)).Locks()) {
		if slices.ContainsFunc(c.Locks, func(other ID) bool { return slices.Contains(cyclic, other) }) {
			return true, true
		}
	}
	return true, false
}

// without returns a lock without one of its contenders. If no holder remains, the next contenders
// hold it together.
func (l *Lock) without(gone *Contender) *Lock {
	rest := clone(l)
	is := func(c Contender) bool { return same(&c, gone) }
	rest.Holders = slices.DeleteFunc(rest.Holders, is)
	// the library skips dead waiters
	rest.Waiters = slices.DeleteFunc(rest.Waiters, func(c Contender) bool { return c.Dead || is(c) })
	for len(rest.Waiters) > 0 &&
		(len(rest.Holders) == 0 || rest.Holders[0].Mode == recipe.Shared && rest.Waiters[0].Mode == recipe.Shared) {
		next := rest.Waiters[0]
		next.State = Holding
		rest.Holders, rest.Waiters = append(rest.Holders, next), rest.Waiters[1:]
	}
	return rest
}
