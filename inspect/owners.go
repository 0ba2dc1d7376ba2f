package inspect

import (
	"fmt"
	"slices"
	"sync"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Cycles are the wait-for cycles over all locks of all backends, from the last search, at most one
// every 250 ms. An owner is a ZooKeeper session, or a process or its thread on Redis.
func (s *Snapshot) Cycles() []Cycle { return s.cycles }

// History of a lock while it was watched; nil if nothing happened to it.
func (s *Snapshot) History(id ID) *History {
	if l := s.Lock(id); l != nil {
		return l.Observed.History
	}
	return nil
}

// Entry is a contender and its lock.
type Entry struct {
	Lock      *Lock
	Contender *Contender
}

// owners lists the entries of every owner; it is built on first use.
type owners struct {
	once    sync.Once
	entries map[Identity][]Entry
}

// Of returns all entries of the owner of l's contender c, including c, in the order of the locks;
// nil if the owner is unknown.
func (s *Snapshot) Of(l *Lock, c *Contender) []Entry {
	who, ok := c.Identity(l.ID.Backend)
	if !ok {
		return nil
	}
	return s.Owners()[who]
}

// Owners returns the entries of every known owner, in the order of the locks. Do not change it.
func (s *Snapshot) Owners() map[Identity][]Entry {
	s.owners.once.Do(func() { s.owners.entries = entriesOf(s) })
	return s.owners.entries
}

func entriesOf(s *Snapshot) map[Identity][]Entry {
	entries := make(map[Identity][]Entry)
	for l := range s.Locks() {
		for c := range l.Contenders {
			if who, ok := c.Identity(l.ID.Backend); ok {
				entries[who] = append(entries[who], Entry{l, c})
			}
		}
	}
	return entries
}

// Culprit follows the chain that blocks a lock to its root. If the lock's first holder waits
// elsewhere, it continues with the first holder there, and so on. It returns false if no holder is
// known. If the chain closes, as in a deadlock, it returns the last entry before that.
func (s *Snapshot) Culprit(l *Lock) (Entry, bool) {
	if len(l.Holders) == 0 {
		return Entry{}, false
	}
	at := Entry{l, &l.Holders[0]}
	seen := map[ID]bool{l.ID: true}
	for {
		next, ok := s.blocked(at, seen)
		if !ok {
			return at, true
		}
		seen[next.Lock.ID] = true
		at = next
	}
}

// Threads splits an owner's entries by their labels if a session has several. Each is a thread
// that waits and holds independently.
func Threads(entries []Entry) [][]Entry {
	if !severalLabels(entries) {
		return [][]Entry{entries}
	}
	var list [][]Entry
	place := make(map[Untrusted]int)
	for _, e := range entries {
		at, ok := place[e.Contender.Owner.Label]
		if !ok {
			at = len(list)
			place[e.Contender.Owner.Label], list = at, append(list, nil)
		}
		list[at] = append(list[at], e)
	}
	return list
}

// thread returns the entries of an entry's owner, or of its thread.
func (s *Snapshot) thread(at Entry) []Entry {
	threads := Threads(s.Of(at.Lock, at.Contender))
	i := slices.IndexFunc(threads, func(list []Entry) bool {
		return len(list) > 0 && list[0].Contender.Owner.Label == at.Contender.Owner.Label
	})
	return threads[max(0, i)]
}

// blocked finds the first holder of a lock that the entry's owner waits for and that is not yet in
// seen. Of several such holders it takes the one that blocks the most.
func (s *Snapshot) blocked(at Entry, seen map[ID]bool) (Entry, bool) {
	var best Entry
	for _, e := range s.thread(at) {
		if e.Contender.State == Holding || e.Contender.Dead || seen[e.Lock.ID] || len(e.Lock.Holders) == 0 ||
			!e.Lock.Blocks() {
			continue
		}
		if h := &e.Lock.Holders[0]; best.Lock == nil || h.BlockedBelow > best.Contender.BlockedBelow {
			best = Entry{e.Lock, h}
		}
	}
	return best, best.Lock != nil
}

// Who names the owner of a contender by the best that is known: label, client address, host,
// session, and finally the contender's own name. It also falls back to that name if the host is
// only a MAC address, which clients share. See also Nameless.
func (c *Contender) Who() Untrusted {
	o := c.Owner
	switch {
	case o.Label != "" && o.Client != "":
		return o.Label + " " + Untrusted(o.Client)
	case o.Label != "":
		return o.Label
	case o.Client != "":
		return Untrusted(o.Client)
	case o.Host != "" && !o.HostIsMAC():
		return o.Host
	case o.Session != 0:
		return Untrusted(SessionID(o.Session))
	case c.Nameless() && c.Count > 1:
		return Untrusted(fmt.Sprintf("%d unknown", c.Count))
	case c.Nameless():
		return "unknown"
	default:
		return c.Name
	}
}

// Nameless reports whether a contender's value says that the lock is held but not by which client,
// such as 1, true, or a count.
func (c *Contender) Nameless() bool {
	return c.Owner.Process == Process{} && c.Owner.Label == "" && c.Owner.Client == "" && c.Owner.Session == 0 &&
		!c.Sequential && recipe.IsAnonymous(c.Name.Raw())
}
