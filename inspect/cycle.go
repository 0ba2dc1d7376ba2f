package inspect

import "time"

// Wants finds the place in the queue of a lock that a cycle's owner of this number waits in; nil when it is not there.
func (c *Cycle) Wants(l *Lock, owner int) *Contender { return c.find(l, l.Waiters, owner) }

// Has finds what a cycle's owner of this number has of a lock that the one before it waits for: a hold or else a place in
// the queue; nil when it is not there.
func (c *Cycle) Has(l *Lock, owner int) *Contender {
	if h := c.find(l, l.Holders, owner); h != nil {
		return h
	}
	return c.find(l, l.Waiters, owner)
}

func (c *Cycle) find(l *Lock, list []Contender, owner int) *Contender {
	for i := range list {
		who, known := c.ties.of(l, &list[i])
		if known && owner < len(c.Identities) && who == c.Identities[owner] || !known && list[i].Who().String() == c.Owners[owner] {
			return &list[i]
		}
	}
	return nil
}

// Before is the number of the owner before one in the cycle: whom it lets wait, on the lock of that number.
func (c *Cycle) Before(owner int) int { return (owner + len(c.Owners) - 1) % len(c.Owners) }

// cheapest is the hold that costs the least to free: the fewest wait for it, and among these it was granted last.
func (c *Cycle) cheapest(lock func(ID) *Lock) CycleHold {
	best := CycleHold{Owner: -1}
	var least *Contender
	for i := range c.Owners {
		l := lock(c.Locks[c.Before(i)])
		if l == nil {
			continue
		}
		if h := c.Has(l, i); h != nil && h.State == Holding && (least == nil || cheaper(h, least)) {
			least, best = h, CycleHold{Owner: i, Lock: l.ID, Name: h.Name, Digest: h.Digest()}
		}
	}
	return best
}

func cheaper(a, b *Contender) bool {
	if a.BlockedBelow != b.BlockedBelow {
		return a.BlockedBelow < b.BlockedBelow
	}
	return heldFrom(a).After(heldFrom(b))
}

// heldFrom returns the time of the grant or, where that is unknown, of entering the queue.
func heldFrom(c *Contender) time.Time {
	if c.HeldSince.IsZero() {
		return c.Since
	}
	return c.HeldSince
}
