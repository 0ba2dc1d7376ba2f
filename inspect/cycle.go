package inspect

import (
	"slices"
	"time"
)

// Cycle is a deadlock: each of Owners waits for the next, and the last for the first, on the lock
// at the same index.
type Cycle struct {
	Locks  []ID
	Owners []string
	// Labels are the Owners' labels, or what else names them best, without an address.
	Labels []string
	// Identities of the owners; an unknown owner has one without a client.
	Identities []Identity
	// Since is when, by our clock, all of its entries were first seen unchanged; zero in a single
	// look.
	Since time.Time
	// Shared is set if one of the owners may be several threads that do different things.
	Shared bool
	// OneLook is set if only one look saw it, so its locks may be changing hands.
	OneLook bool
	// Cheapest is the hold that costs the least to end and whose end breaks the cycle.
	Cheapest CycleHold
	// Ties are the reasons to treat different identities on two backends as one owner; empty if
	// none were needed.
	Ties []Tie

	waits []waitKey // of each owner
}

// CycleHold is a hold in a cycle: owner number Owner holds the lock that the previous owner waits
// for. Owner is -1 if no owner in the cycle holds a lock that another waits for.
type CycleHold struct {
	Owner  int
	Lock   ID
	Name   Untrusted
	Digest string
}

// Wants finds the waiting entry of an owner, given by number; nil if it is not there.
func (c *Cycle) Wants(l *Lock, owner int) *Contender {
	if owner >= len(c.waits) {
		return nil
	}
	return contenderNamed(l.Waiters, c.waits[owner].waiter)
}

// Has finds an owner's entry on the lock that the previous owner waits for. That is its hold, or
// else its place in the queue. It returns nil if neither is there.
func (c *Cycle) Has(l *Lock, owner int) *Contender {
	if owner >= len(c.waits) {
		return nil
	}
	name := c.waits[c.Before(owner)].target
	if h := contenderNamed(l.Holders, name); h != nil {
		return h
	}
	return contenderNamed(l.Waiters, name)
}

func contenderNamed(list []Contender, name Untrusted) *Contender {
	if i := slices.IndexFunc(list, func(c Contender) bool { return c.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// unchanged reports whether an earlier look already had the same entries.
func (c *Cycle) unchanged(s, before *Snapshot) bool {
	for i, id := range c.Locks {
		is, was := s.Lock(id), before.Lock(id)
		if is == nil || was == nil {
			return false
		}
		next := (i + 1) % len(c.Owners)
		for _, pair := range [][2]*Contender{{c.Wants(is, i), c.Wants(was, i)}, {c.Has(is, next), c.Has(was, next)}} {
			if pair[0] == nil || pair[1] == nil || !same(pair[0], pair[1]) || pair[0].State != pair[1].State {
				return false
			}
		}
	}
	return true
}

func (c *Cycle) equal(o *Cycle) bool {
	return c.Cheapest == o.Cheapest && c.Shared == o.Shared && c.OneLook == o.OneLook &&
		slices.Equal(c.waits, o.waits) &&
		slices.Equal(c.Identities, o.Identities) && slices.Equal(c.Ties, o.Ties)
}

// Before is the number of the previous owner in the cycle, which waits for this one on the lock of
// that number.
func (c *Cycle) Before(owner int) int { return (owner + len(c.Owners) - 1) % len(c.Owners) }

// cheapest is the hold that costs the least to free: it has the fewest waiters and, among equals,
// the newest grant.
func (c *Cycle) cheapest(lock func(ID) *Lock) CycleHold {
	best := CycleHold{Owner: -1}
	var least *Contender
	for i := range c.Owners {
		l := lock(c.Locks[c.Before(i)])
		if l == nil {
			continue
		}
		if h := c.Has(l, i); h != nil && h.State == Holding && (least == nil || cheaper(h, least)) {
			least, best = h, CycleHold{Owner: i, Lock: l.ID, Name: h.Name, Digest: h.Digest}
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
