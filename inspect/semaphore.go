package inspect

import (
	"cmp"
	"slices"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// curatorSemaphore makes the lock of an InterProcessSemaphoreV2 (or InterProcessSemaphoreMutex,
// which has a single permit). The permits are below "leases". Below "locks" is the mutex that a
// client takes before a permit. The mutex's holder makes its lease. While there are more leases
// than permits, the lease is pending and the holder keeps the mutex. The number of permits is not
// stored; a pending lease reveals it (InterProcessSemaphoreV2.internalAcquire1Lease).
func curatorSemaphore(id ID, own queue, d Directory) *Lock {
	leaseNodes, ok := d.Parts[recipe.CuratorLeases]
	if !ok || len(own.entries) > 0 {
		return nil
	}
	leases, locks := d.part(recipe.CuratorLeases), d.part(recipe.CuratorLocks)
	has := func(q queue, role recipe.Role) bool {
		return slices.ContainsFunc(q.entries,
			func(e recipe.Entry) bool { return e.Recipe == "curator" && e.Role == role })
	}
	leased, locked := has(leases, recipe.Lease), has(locks, recipe.Plain)
	foreign := leased != (len(leases.entries) > 0) || locked != (len(locks.entries) > 0)
	if foreign || !leased && (!locked || len(leaseNodes) > 0) {
		return nil
	}
	l := &Lock{ID: id, Kind: KindSemaphore, Recipe: "curator", Confidence: recipe.Certain}
	waiting := locks.entries
	made := headsLease(leases, locks)
	if made >= 0 {
		waiting = waiting[1:] // its lease represents it
	}
	for i, e := range leases.entries {
		c := leases.contender(e)
		c.State = Holding
		if i == made && len(leases.entries) > 1 { // a single lease is granted
			c.State = Pending
			l.Limit = len(leases.entries) - 1
			l.Waiters = append(l.Waiters, c)
			continue
		}
		l.Holders = append(l.Holders, c)
	}
	l.Waiters = append(l.Waiters, locks.queued(waiting)...)
	countBlocked(l)
	own.leaveOut(recipe.CuratorLeases, recipe.CuratorLocks)
	l.Aliens = aliens(own, leases, locks)
	return l
}

// headsLease is the index of the lease that the head of the queue made since it joined; -1 if none.
func headsLease(leases, locks queue) int {
	if len(locks.entries) == 0 {
		return -1
	}
	head := locks.node(&locks.entries[0])
	newest := -1
	for i, e := range leases.entries {
		n := leases.node(&e)
		if e.Session != 0 && e.Session == head.EphemeralOwner && n.Czxid > head.Czxid {
			newest = i // the leases are in order
		}
	}
	return newest
}

// queued returns the waiting entries at the end of the queue. The head of the queue waits for a
// permit, each other entry for the one before it.
func (q *queue) queued(waiting []recipe.Entry) []Contender {
	skipped := len(q.entries) - len(waiting)
	var list []Contender
	for i, e := range waiting {
		c := q.contender(e)
		c.State = Waiting
		if before := skipped + i - 1; before >= 0 {
			c.Watches = Untrusted(q.entries[before].Name)
		}
		list = append(list, c)
	}
	return list
}

// kazooSemaphore makes the lock of a kazoo Semaphore. It has a child for each taken permit, and
// the number of permits is the directory's data. A directory next to it is the queue, whose head
// waits for a permit.
func kazooSemaphore(id ID, own queue, d Directory) *Lock {
	place := recipe.KazooQueue(id.Path)
	_, hasQueue := d.Parts[place]
	limit, limited := recipe.KazooLimit(d.Data)
	if !hasQueue && !limited || len(own.entries) == 0 && !(hasQueue && limited) {
		return nil
	}
	for _, e := range own.entries {
		if e.Recipe != "kazoo" || e.Role != recipe.Lease {
			return nil
		}
	}
	if len(own.entries) > 0 && !own.proven() {
		return nil
	}
	queue := d.part(place)
	l := &Lock{ID: id, Kind: KindSemaphore, Recipe: "kazoo", Confidence: recipe.Certain, Limit: limit}
	if !hasQueue || !limited {
		l.Confidence = recipe.Likely
	}
	for _, e := range own.entries {
		c := own.contender(e)
		c.State = Holding
		l.Holders = append(l.Holders, c)
	}
	slices.SortStableFunc(l.Holders, func(a, b Contender) int { return cmp.Compare(a.Czxid, b.Czxid) })
	waiting := queue.entries
	if headsLease(own, queue) >= 0 {
		waiting = waiting[1:] // it is about to leave the queue
	}
	l.Waiters = queue.queued(waiting)
	countBlocked(l)
	l.Aliens = aliens(own, queue)
	return l
}

// countBlocked counts how many contenders each contender of a semaphore blocks. A holder blocks
// waiters only if no other permit can become free first.
func countBlocked(l *Lock) {
	if len(l.Holders) == 1 && l.Limit <= 1 {
		l.Holders[0].BlockedBelow = int32(len(l.Waiters))
	}
	for i := range l.Waiters {
		l.Waiters[i].BlockedBelow = int32(len(l.Waiters) - 1 - i)
	}
}
