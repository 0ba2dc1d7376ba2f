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

// Expect tells the observer what is expected of locks; of several that match a lock, the first that says
// something counts for that. Call it before Run.
func (o *Observer) Expect(list []Expectation) { o.expectations = list }

// expect puts what is expected of a lock into it.
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

// UsualHold is for how long a lock is usually held at most: what is expected of it by the configuration or,
// learnt, the 99th percentile of the holds that were seen to begin and end; 0 while there are fewer than 20.
func (l *Lock) UsualHold() (usual time.Duration, learnt bool) {
	switch {
	case l.ExpectedHold > 0:
		return l.ExpectedHold, false
	case l.Observed.History != nil && l.Observed.History.Holds.Count >= usualHolds:
		return l.Observed.History.Holds.P99, true
	}
	return 0, false
}
