package inspect

import (
	"cmp"
	"time"
)

// Spread of the locks of a backend over its Redis masters, counted over those for which every master answered
// and at least one has the key.
type Spread struct {
	// Masters and Locks are the numbers of masters and of counted locks. OnOne counts the locks
	// with no value on more than one master.
	Masters, Locks, OnOne int
	// Used is the number of different masters that have the locks of OnOne.
	Used int

	suspected bool // before: it takes fewer locks to stay so
}

// Suspect reports whether these are not the masters of one lock, but independent servers with their own locks: nine
// of ten locks are on one of them only, and not all on the same one, or there are many. It stays so while three of four
// are, so that a few locks that come and go do not change what is said of all.
func (s Spread) Suspect() bool {
	least := 90
	if s.suspected {
		least = 75
	}
	return s.Masters > 1 && 100*s.OnOne >= least*s.Locks && s.OnOne > 1 && (s.Used > 1 || s.OnOne >= suspectLocks)
}

// suspectLocks on one and the same of several masters are too many for failed attempts.
const suspectLocks = 5

// spread counts, as locks come and go.
type spread struct {
	masters, locks, onOne int
	on                    map[string]int // locks of onOne by master
}

// spreadNow returns the spread. One that has only just become suspect says nothing yet.
func (p *backendState) spreadNow() Spread {
	if s := p.counted(); p.suspect || !s.Suspect() {
		return s
	}
	return Spread{}
}

// judge decides whether the target is suspect. Once it is watched, its locks must look so for SettleFor: a lock is on
// one master alone also for the moment in which it is acquired or released.
func (p *backendState) judge(now time.Time) {
	if !p.counted().Suspect() {
		p.suspect, p.suspectSince = false, time.Time{}
		return
	}
	p.suspectSince = cmp.Or(p.suspectSince, now)
	p.suspect = p.suspect || p.once() || !now.After(p.since) || now.Sub(p.suspectSince) >= SettleFor
}

// counted returns the spread once all locks were looked at, or enough of them.
func (p *backendState) counted() Spread {
	if s := &p.spread; p.firstPassDone || p.once() || s.onOne >= suspectLocks {
		return Spread{Masters: s.masters, Locks: s.locks, OnOne: s.onOne, Used: len(s.on), suspected: p.suspect}
	}
	return Spread{}
}

// count adds a lock, or takes it away again: by is 1 or -1. l may be nil.
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
