package inspect

import (
	"slices"
	"time"

	"lockscope/inspect/recipe"
)

// Curator's deprecated InterProcessSemaphore writes the nodes of its mutex. Whoever comes while all n permits are taken
// watches the n-th node before its own and waits until that one goes; whoever has a permit watches none, and n is written
// nowhere (Curator 5.4.0: InterProcessSemaphore, LockInternals.internalLockLoop, StandardLockInternalsDriver.getsTheLock).
// Only the table of watches distinguishes the two: in a mutex each node but the first watches the one right before it.

// oldSemaphore reports whether a lock was found to be such a semaphore.
func oldSemaphore(l *Lock) bool {
	return l.Kind == KindSemaphore && l.Recipe == "curator" && l.Contention() > 0 && plainNodes(l)
}

// readAsMutex reports whether a lock has the nodes of Curator's mutex.
func readAsMutex(l *Lock) bool {
	return l.Kind == KindMutex && l.Recipe == "curator" && plainNodes(l)
}

func plainNodes(l *Lock) bool {
	other := func(c Contender) bool {
		return c.Place() != "" || c.Recipe() != "" || c.Mode != recipe.Exclusive || !c.Sequential
	}
	return !slices.ContainsFunc(l.Holders, other) && !slices.ContainsFunc(l.Waiters, other)
}

// MutexOrPermits reports whether Curator's nodes may be a mutex, whose one waiter nothing will wake, as well as a deprecated
// semaphore, two permits of which are taken: they look the same.
func (l *Lock) MutexOrPermits() bool {
	return readAsMutex(l) && len(l.Waiters) == 1 && l.Waiters[0].Watch == Missing && l.awaits(&l.Waiters[0]) == "" && l.Waiters[0].WatchesGone() == ""
}

// showsPermits reports whether the watches show a lock that was read as a mutex to be such a semaphore: somebody waits
// for another than the one right before it, or several wait for nobody.
func (l *Lock) showsPermits() bool {
	if !readAsMutex(l) {
		return false
	}
	missing := 0
	for i := range l.Waiters {
		if w := &l.Waiters[i]; w.Watch == Missing {
			if missing++; l.awaits(w) != "" {
				return true
			}
		}
	}
	return missing == len(l.Waiters) && missing > 1
}

// recordAwaited sets for each contender the one before it that its session watches, by the table. Of several contenders of one
// session the last ones wait.
func (l *Lock) recordAwaited(t *WatchTable) {
	queue := l.inOrder()
	watched := make(map[int64][]int) // places in the queue, by the session that watches them
	for i, c := range queue {
		for _, session := range t.Sessions[l.Node(c)] {
			if session != c.Owner.Session {
				watched[session] = append(watched[session], i)
			}
		}
	}
	for i := len(queue) - 1; i >= 0; i-- {
		c := queue[i]
		var awaits Untrusted
		before := watched[c.Owner.Session]
		if n := len(before); c.Owner.Session != 0 && n > 0 && before[n-1] < i {
			awaits, watched[c.Owner.Session] = queue[before[n-1]].Name, before[:n-1]
		}
		l.setAwaits(c, awaits)
	}
}

// inOrder are all contenders in the order of the queue.
func (l *Lock) inOrder() []*Contender {
	queue := make([]*Contender, 0, l.Contention())
	everyContender(l, func(c *Contender) { queue = append(queue, c) })
	slices.SortStableFunc(queue, func(a, b *Contender) int { return int(a.Sequence - b.Sequence) })
	return queue
}

// asPermits makes the semaphore of what was read as a mutex, by the watches that were seen.
func (l *Lock) asPermits() {
	queue, waits := l.inOrder(), false
	for _, c := range queue {
		unknown := c.State == Waiting && c.Watch != Missing && l.awaits(c) == ""
		waits = waits || l.awaits(c) != ""
		l.stand(c, l.awaits(c) != "" || unknown && waits)
	}
	if !waits {
		l.Confidence = recipe.Likely
	}
	l.regroup(queue)
}

// stand puts a contender of the semaphore among those that wait, or hold.
func (l *Lock) stand(c *Contender, waits bool) {
	c.State, c.Watches, c.Watch = Holding, "", Unconfirmed
	l.setUnwatched(c, false)
	if waits {
		if c.State, c.Watches = Waiting, l.awaits(c); c.Watches != "" {
			c.Watch = Confirmed
		}
	}
}

// regroup makes the semaphore's lists of these contenders, which stand as they do.
func (l *Lock) regroup(queue []*Contender) {
	held := 0
	for _, c := range queue {
		if c.State == Holding {
			held++
		}
	}
	holders, waiters := slices.Grow([]Contender(nil), held), slices.Grow([]Contender(nil), len(queue)-held)
	for _, c := range queue {
		if c.State == Holding {
			holders = append(holders, *c)
		} else {
			c.HeldSince = time.Time{}
			waiters = append(waiters, *c)
		}
	}
	l.Kind, l.Holders, l.Waiters = KindSemaphore, holders, waiters
	for i := range l.Holders {
		l.Holders[i].BlockedBelow = 0
	}
	l.State = queueState(l)
	countBlocked(l)
}

// confirmPermits takes in a table of watches on such a semaphore, and reports whether that changed anything. Who waited and
// watches nobody was granted: by the second table in a row, since it may be about to watch the next.
func (l *Lock) confirmPermits(t *WatchTable) (changed bool) {
	l.recordAwaited(t)
	queue := l.inOrder()
	for _, c := range queue {
		switch {
		case l.awaits(c) != "":
			changed = changed || c.State != Waiting || c.Watches != l.awaits(c)
			l.stand(c, true)
		case c.State != Waiting || !t.hears(c.Owner.Session) || t.ReadAt.Sub(l.ReadAt) < WatchSettle:
		case l.unwatched(c):
			changed = true
			l.stand(c, false)
		default:
			changed = true
			l.setUnwatched(c, true)
		}
	}
	if changed {
		l.regroup(queue)
	}
	return changed
}

// ByWatches is a lock as it was read again by itself, with what only earlier watches show of it: was, which may be nil,
// and read too.
func ByWatches(read, was *Lock) *Lock {
	if read == nil || was == nil || !oldSemaphore(was) || !readAsMutex(read) {
		return read
	}
	l := clone(read)
	l.carryPermits(was)
	return l
}

// carryPermits makes such a semaphore of a newer reading: a holder holds on, a waiter waits as long as the one that it
// watches is there, and a newcomer waits behind those, or while as many hold as did when somebody waited.
func (l *Lock) carryPermits(was *Lock) {
	before, queue := indexOf(was), l.inOrder()
	if l.permits = was.permits; len(was.Waiters) > 0 {
		l.permits = max(l.permits, len(was.Holders))
	}
	there, holding := make(map[Untrusted]bool, len(queue)), 0
	for _, c := range queue {
		there[c.Name] = true
		if old, ok := before.same(c); ok && old.State == Holding {
			holding++
		}
	}
	waits := false
	for _, c := range queue {
		old, ok := before.same(c)
		switch {
		case ok && old.State == Holding:
			l.stand(c, false)
			continue
		case ok && there[old.Watches]:
			l.setAwaits(c, old.Watches)
			l.stand(c, true)
			l.setUnwatched(c, was.unwatched(old))
		case waits || l.permits > 0 && holding >= l.permits:
			l.stand(c, true) // the next table has its watch
		default:
			holding++
			l.stand(c, false)
		}
		waits = waits || c.State == Waiting
	}
	l.Confidence = was.Confidence
	l.regroup(queue)
}
