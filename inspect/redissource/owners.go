package redissource

import (
	"net/netip"
	"slices"

	"lockscope/inspect"
	"lockscope/inspect/redissource/node"
)

// clientOf is the address of a contender's client. A client of several masters has a port of its own on each:
// there it is the host, if all that answer see the same one. What is the loopback address to several is not
// one host.
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
	for _, list := range [...][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			list[i].Owner.Client = b.clientOf(l, &list[i])
		}
	}
}

// meet takes in who is connected to a master, and returns new versions of the locks that this says something new about.
func (b *keyTable) meet(master int, list node.Clients) []*inspect.Lock {
	other := b.clients[master].Other(list)
	b.clients[master] = list
	if len(other) == 0 {
		return nil
	}
	var changed []*inspect.Lock
	for _, e := range b.entries {
		if e.lock == nil || !b.outdated(e.lock, other) {
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

// outdated reports whether one of these names is a contender's, and its client not the one that was reported.
func (b *keyTable) outdated(l *inspect.Lock, names map[string]bool) bool {
	for _, list := range [...][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			c := &list[i]
			of := node.NamesOf(c)
			if (names[of[0]] || names[of[1]] || names[of[2]]) && c.Owner.Client != b.clientOf(l, c) {
				return true
			}
		}
	}
	return false
}
