package inspect

import "sync"

// Cycles are the wait-for cycles over all locks of all backends, as of a moment ago: they are sought at most every
// 250 ms. An owner is a ZooKeeper session, or a process or its thread on Redis.
func (s *Snapshot) Cycles() []Cycle { return s.cycles }

// History is what was seen of a lock while it was watched; nil when nothing happened to it.
func (s *Snapshot) History(id ID) *History {
	if l := s.Lock(id); l != nil {
		return l.history
	}
	return nil
}

// Entry is a contender and its lock.
type Entry struct {
	Lock      *Lock
	Contender *Contender
}

// owners lists the entries of every owner; it is made when it is first asked for.
type owners struct {
	once    sync.Once
	entries map[Identity][]Entry
}

// Of are all entries of the owner of l's contender c, this one among them, in the order of the locks; nil when it is
// not known who that is.
func (s *Snapshot) Of(l *Lock, c *Contender) []Entry {
	who, ok := c.Identity(l.ID.Backend)
	if !ok {
		return nil
	}
	return s.Owners()[who]
}

// Owners are the entries of every owner that is known, in the order of the locks. Do not change it.
func (s *Snapshot) Owners() map[Identity][]Entry {
	s.owners.once.Do(func() {
		s.owners.entries = make(map[Identity][]Entry)
		for l := range s.Locks() {
			everyContender(l, func(c *Contender) {
				if who, ok := c.Identity(l.ID.Backend); ok {
					s.owners.entries[who] = append(s.owners.entries[who], Entry{l, c})
				}
			})
		}
	})
	return s.owners.entries
}

// Culprit follows the chain of a lock across other locks to who blocks it at last: from the lock's first holder, which
// waits elsewhere, to the first holder there, and so on. false when nobody known holds it; when the chain closes, as in a
// deadlock, it is the last one before that.
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

// WaitsFor is the first holder of the lock that l's first holder waits for itself: the next step to the culprit. false when
// it is not known to wait for any.
func (s *Snapshot) WaitsFor(l *Lock) (Entry, bool) {
	if len(l.Holders) == 0 {
		return Entry{}, false
	}
	return s.blocked(Entry{l, &l.Holders[0]}, map[ID]bool{l.ID: true})
}

// blocked is the first holder of a lock that the owner of an entry waits for and that was not seen yet: of several, the
// one that blocks the most.
func (s *Snapshot) blocked(at Entry, seen map[ID]bool) (Entry, bool) {
	var best Entry
	for _, e := range s.Of(at.Lock, at.Contender) {
		if e.Contender.State == Holding || seen[e.Lock.ID] || len(e.Lock.Holders) == 0 || !blocks(e.Lock) {
			continue
		}
		if h := &e.Lock.Holders[0]; best.Lock == nil || h.BlockedBelow > best.Contender.BlockedBelow {
			best = Entry{e.Lock, h}
		}
	}
	return best, best.Lock != nil
}
