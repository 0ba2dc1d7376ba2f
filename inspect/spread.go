package inspect

import (
	"cmp"
	"time"
)

// Spread is how a backend's locks are spread over its Redis masters. It counts only locks for
// which every master answered and at least one has the key.
type Spread struct {
	// Masters and Locks are the numbers of masters and of counted locks. OnOne counts the locks
	// with no value on more than one master.
	Masters, Locks, OnOne int
	// Used is how many different masters have the locks of OnOne.
	Used int

	suspected bool // it was suspect before, so fewer locks keep it so
}

// Suspect reports whether the masters look like independent servers with their own locks, not
// masters of the same locks. Nine of ten locks are then on one master only: on different masters,
// or many on the same one. The target stays suspect down to three of four, so that a few locks do
// not flip the verdict.
func (s Spread) Suspect() bool {
	least := 90
	if s.suspected {
		least = 75
	}
	return s.Masters > 1 && 100*s.OnOne >= least*s.Locks && s.OnOne > 1 && (s.Used > 1 || s.OnOne >= suspectLocks)
}

// suspectLocks is how many locks on the same single master are too many to be failed attempts.
const suspectLocks = 5

// spread keeps the counts as locks come and go.
type spread struct {
	masters, locks, onOne int
	on                    map[string]int // locks of onOne by master
}

// spreadNow returns the spread. It is empty while a suspect spread is too new.
func (p *backendState) spreadNow() Spread {
	if s := p.counted(); p.suspect || !s.Suspect() {
		return s
	}
	return Spread{}
}

// judge decides whether the target is suspect. While it is watched, it must look suspect for
// SettleFor. A lock that is being acquired or released is briefly on one master alone.
func (p *backendState) judge(now time.Time) {
	if !p.counted().Suspect() {
		p.suspect, p.suspectSince = false, time.Time{}
		return
	}
	p.suspectSince = cmp.Or(p.suspectSince, now)
	p.suspect = p.suspect || p.once() || !now.After(p.since) || now.Sub(p.suspectSince) >= SettleFor
}

// counted returns the spread once all locks, or enough of them, have been read.
func (p *backendState) counted() Spread {
	if s := &p.spread; p.firstPassDone || p.once() || s.onOne >= suspectLocks {
		return Spread{Masters: s.masters, Locks: s.locks, OnOne: s.onOne, Used: len(s.on), suspected: p.suspect}
	}
	return Spread{}
}

// count adds a lock or removes it: by is 1 or -1. l may be nil.
func (s *spread) count(l *Lock, by int) {
	if l == nil || len(l.Masters) < 2 {
		return
	}
	votes := map[ballot]int{}
	most := 0
	for _, m := range l.Masters {
		if !m.Up {
			return
		}
		for _, b := range ballotsOf(m) {
			votes[b]++
			most = max(most, votes[b])
		}
	}
	if most == 0 {
		return
	}
	s.masters = len(l.Masters)
	s.locks += by
	if most > 1 {
		return
	}
	s.onOne += by
	if s.on == nil {
		s.on = make(map[string]int)
	}
	for _, m := range l.Masters {
		if len(ballotsOf(m)) == 0 {
			continue
		}
		if s.on[m.Addr] += by; s.on[m.Addr] == 0 {
			delete(s.on, m.Addr)
		}
	}
}
