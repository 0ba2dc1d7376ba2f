package inspect

import (
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// leaseLock makes the lock of a kazoo NonBlockingLease, or returns nil if the directory has none.
// One node has its owner and its end. Clients that are about to take or renew it are next to it, in
// kazoo's queue. The owner of an expired lease holds nothing.
func leaseLock(id ID, own queue, d Directory, now time.Time) *Lock {
	lease, node, ok := d.lease(own)
	if !ok {
		return nil
	}
	l := &Lock{ID: id, Kind: KindMutex, Recipe: lease.Recipe, Confidence: lease.Confidence}
	first := recipe.Entry{}
	queue := queue{writer: own.writer, nodes: own.nodes}
	for _, e := range own.entries {
		if e.Recipe == lease.Recipe && !e.Unnumbered {
			queue.entries = append(queue.entries, e)
		}
	}
	if len(queue.entries) > 0 {
		first = queue.entries[0]
	}
	here := own.named(recipe.LeaseNode) != nil
	renewing := first.Name != "" && queue.mayBe(first, lease.Label)
	if (lease.Until.IsZero() || lease.Until.After(now)) && (here || renewing) {
		l.Holders = []Contender{{
			Name: recipe.LeaseNode, State: Holding, Count: 1, Since: node.Created, ExpiresAt: lease.Until,
			Owner: Owner{Label: Untrusted(lease.Label)}, Czxid: node.Czxid, Version: node.Version, Persistent: true,
		}}
	}
	for _, c := range queue.queued(queue.entries) {
		// else it is the holder itself, which renews
		if len(l.Holders) == 0 || c.Owner.Label != l.Holders[0].Owner.Label {
			l.Waiters = append(l.Waiters, c)
		}
	}
	countBlocked(l)
	queue.leaveOut(recipe.LeaseNode)
	l.Aliens = aliens(queue)
	return l
}

// lease returns the directory's lease and its node: the current one or, while a client rewrites it,
// the previous one.
func (d *Directory) lease(own queue) (lease recipe.Single, node *Znode, ok bool) {
	node = own.named(recipe.LeaseNode)
	if node == nil || !node.Known {
		node = d.Lease
	}
	if node == nil || node.EphemeralOwner != 0 {
		return lease, node, false
	}
	lease, ok = recipe.ReadLease(node.Data[:min(len(node.Data), maxValue)])
	return lease, node, ok
}

// mayBe reports whether an entry may be of the client that calls itself so: it is, or it was not read yet.
func (q *queue) mayBe(e recipe.Entry, label string) bool {
	return !q.node(&e).Known || q.contender(e).Owner.Label == Untrusted(label)
}

// IsLease reports whether a znode keeps a kazoo NonBlockingLease.
func (n *Znode) IsLease() bool {
	if n.Name != recipe.LeaseNode || !n.Known || n.EphemeralOwner != 0 {
		return false
	}
	_, ok := recipe.ReadLease(n.Data[:min(len(n.Data), maxValue)])
	return ok
}

// leased reports whether a contender holds by a lease: its znode stays until its time is up, and is made
// again to renew it.
func (c *Contender) leased() bool {
	return c.Name == recipe.LeaseNode && c.Persistent && c.State == Holding && c.Owner.Label != ""
}

// renewed reports whether two contenders are one holder before and after it renewed its lease.
func renewed(a, b *Contender) bool {
	return a.leased() && b.leased() && a.Owner.Label == b.Owner.Label
}

// tookLease reports whether a contender of kazoo's queue waited there for the lease that is held under its
// name: the queue and the lease are one client's one hold.
func tookLease(l *Lock, c *Contender) bool {
	return len(l.Holders) == 1 && l.Holders[0].leased() && c.Name != recipe.LeaseNode &&
		c.Owner.Label == l.Holders[0].Owner.Label
}

// NodeLock makes the lock that is the single znode at its path; nil if no recipe recognises it.
// alone means that no other node of its directory is ephemeral. Its waiters show only as watches on
// it. A node that says until when it is held is held until then.
func NodeLock(id ID, n Znode, alone bool, readAt time.Time) *Lock {
	if !n.Known {
		return nil
	}
	s, ok := recipe.ReadSingle(id.Path, n.Data[:min(len(n.Data), maxValue)], n.EphemeralOwner != 0, alone)
	if !ok {
		return nil
	}
	l := &Lock{ID: id, Kind: KindMutex, Recipe: s.Recipe, Confidence: s.Confidence, State: StateFree, ReadAt: readAt}
	if s.Kind != "" {
		l.Kind = Kind(s.Kind)
	} else if recipe.ElectsByPath(id.Path) {
		l.Kind, l.KindConfidence = KindElection, recipe.Possible
	}
	if !s.Free && (s.Until.IsZero() || s.Until.After(readAt)) {
		l.State = StateHeld
		l.Holders = []Contender{{
			Name: Untrusted(n.Name), Special: Special{Place: ".."}, State: Holding, Count: 1, Since: entered(n),
			ExpiresAt: s.Until,
			Owner: Owner{
				Session: n.EphemeralOwner, Label: Untrusted(s.Label),
				Process: Process{Host: Untrusted(s.Host)},
			},
			Czxid: n.Czxid, Version: n.Version, Persistent: n.EphemeralOwner == 0,
		}}
	}
	return l
}

// entered returns the time of taking the lock: a persistent node is rewritten each time.
func entered(n Znode) time.Time {
	if n.EphemeralOwner == 0 {
		return n.Modified
	}
	return n.Created
}
