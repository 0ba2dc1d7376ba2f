package redissource

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/each"
)

// clientOf returns the address of a contender's client. A client of several masters has a port on
// each, so the address is the host, if all answering masters see the same one. Loopback addresses
// on several masters are not one host.
func (b *keyTable) clientOf(l *inspect.Lock, c *inspect.Contender) string {
	host, seen := "", 0
	for i := range l.Masters {
		if !l.Masters[i].Up {
			continue
		}
		at := slices.Index(b.addrs, l.Masters[i].Addr)
		if at < 0 {
			return ""
		}
		from := b.clients[at].Of(c)
		switch {
		case from.Host == "" || seen > 0 && from.Host != host:
			return ""
		case len(l.Masters) == 1:
			return from.Client
		}
		host = from.Host
		seen++
	}
	if at, err := netip.ParseAddr(host); err != nil || at.IsLoopback() || seen < l.Quorum {
		return ""
	}
	return host
}

// identify fills in the clients of a lock's contenders.
func (b *keyTable) identify(l *inspect.Lock) {
	for c := range l.Contenders {
		c.Owner.Client = b.clientOf(l, c)
	}
}

// meet records the clients connected to a master. It returns new versions of the locks whose
// clients changed.
func (b *keyTable) meet(master int, list node.Clients) []*inspect.Lock {
	before := b.clients[master]
	b.clients[master] = list
	if maps.Equal(before, list) {
		return nil
	}
	var changed []*inspect.Lock
	for _, e := range b.entries {
		if e.lock == nil || !b.outdated(e.lock) {
			continue
		}
		l := *e.lock
		l.Holders, l.Waiters = slices.Clone(l.Holders), slices.Clone(l.Waiters)
		b.identify(&l)
		e.lock = &l
		changed = append(changed, &l)
	}
	slices.SortFunc(changed, func(a, b *inspect.Lock) int { return a.ID.Compare(b.ID) })
	return changed
}

// outdated reports whether a contender's client differs from the reported one.
func (b *keyTable) outdated(l *inspect.Lock) bool {
	return each.Any(l.Contenders, func(c *inspect.Contender) bool { return c.Owner.Client != b.clientOf(l, c) })
}
