// Package fairness finds overtaking in a queue. The same rule serves watched locks, timelines and
// contention runs.
package fairness

// Claim is a contender's claim to a lock.
type Claim struct {
	// Place in the order of arrival. Only differences count, as servers' numbers wrap around.
	Place int64
	// Shared claims can hold the lock together.
	Shared bool
}

// Overtakes reports whether a grant to c overtakes a waiter: one that arrived earlier and cannot
// hold the lock together with it.
func (c Claim) Overtakes(waiter Claim) bool {
	return waiter.Place-c.Place < 0 && !(c.Shared && waiter.Shared)
}

// Overtaken returns the indexes of the waiters that a grant overtakes. spare is the number of
// further contenders that could hold the lock together with the current holders, as with a
// semaphore. That many waiters at the front may be about to learn of their own grants, so they are
// not overtaken.
func Overtaken(granted Claim, waiters []Claim, spare int) []int {
	var passed []int
	for i, w := range waiters {
		if granted.Overtakes(w) {
			passed = append(passed, i)
		}
	}
	for ; spare > 0 && len(passed) > 0; spare-- {
		first := 0
		for i := range passed {
			if waiters[passed[i]].Place-waiters[passed[first]].Place < 0 {
				first = i
			}
		}
		passed = append(passed[:first], passed[first+1:]...)
	}
	return passed
}
