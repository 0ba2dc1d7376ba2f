package inspect

import (
	"maps"
	"slices"

	"github.com/lockscope/lockscope/inspect/recipe"
)

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
// still wait for each other if one of its contenders were gone and the next in line held it.
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

// without is a lock without one of its contenders. If it then has no holder, the next contenders
// hold it together.
func (l *Lock) without(gone *Contender) *Lock {
	rest := clone(l)
	is := func(c Contender) bool { return same(&c, gone) }
	rest.Holders = slices.DeleteFunc(rest.Holders, is)
	rest.Waiters = slices.DeleteFunc(rest.Waiters, func(c Contender) bool { return c.Dead || is(c) }) // its library passes over the dead
	for len(rest.Waiters) > 0 && (len(rest.Holders) == 0 || rest.Holders[0].Mode == recipe.Shared && rest.Waiters[0].Mode == recipe.Shared) {
		next := rest.Waiters[0]
		next.State = Holding
		rest.Holders, rest.Waiters = append(rest.Holders, next), rest.Waiters[1:]
	}
	return rest
}
