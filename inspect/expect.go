package inspect

import (
	"cmp"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
)

// Expectation is an operator's knowledge of some locks, which nothing on the servers shows.
type Expectation struct {
	// Match is a pattern of locks' ids, BACKEND:PATH, as SCAN's: * is any text, ? any byte, [a-z] one of them.
	Match string
	// Hold is for how long they are usually held at most; 0: not said.
	Hold time.Duration
	// Election: their holder leads, and is meant to hold for as long as it lives.
	Election bool
}

// Expect sets the expectations on locks. If several match a lock, each value comes from the first
// that sets it. Call it before Run.
func (o *Observer) Expect(list []Expectation) { o.expectations = list }

// expect puts the expectations on a lock into it.
func (o *Observer) expect(l *Lock) {
	if len(o.expectations) == 0 {
		return
	}
	id := l.ID.String()
	for _, e := range o.expectations {
		if !text.Glob(e.Match, id) {
			continue
		}
		l.ExpectedHold = cmp.Or(l.ExpectedHold, e.Hold)
		if e.Election && (l.Kind == KindMutex || l.Kind == KindRedlock || l.Kind == KindElection) {
			l.Kind, l.KindConfidence = KindElection, recipe.Certain
		}
	}
}

// usualHolds is the number of complete holds from which their 99th percentile is worth using.
const usualHolds = 20

// UsualHold is the longest time for which a lock is usually held. It is the configured expectation
// or, if learnt, the 99th percentile of the holds that we saw begin and end. It is 0 while there
// are fewer than 20.
func (l *Lock) UsualHold() (usual time.Duration, learnt bool) {
	switch {
	case l.ExpectedHold > 0:
		return l.ExpectedHold, false
	case l.Observed.History != nil && l.Observed.History.Holds.Count >= usualHolds:
		return l.Observed.History.Holds.P99, true
	}
	return 0, false
}
