package inspect

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"
)

// Limits of a running screen: the last 15 minutes in steps of a quarter of a second, in 16 MB as
// counted here. The heap needs up to four times as much if versions share no texts.
const (
	PastKept   = 15 * time.Minute
	PastStep   = 250 * time.Millisecond
	PastBudget = 16 << 20
)

// statesKept limits the states other than locks: one a second for the time that a running screen
// keeps.
const statesKept = 1000

// sessionsKept limits the sessions kept with an earlier state, since their tables are whole and
// read repeatedly.
const sessionsKept = 500

// Past keeps, lock by lock, the states before the newest snapshot, so that any moment can be
// viewed. Unchanged state takes no room. It is not safe for concurrent use.
type Past struct {
	keep, step time.Duration
	budget     int
	first      time.Time // nothing is known before it
	last       *Snapshot
	locks      map[ID]*earlier
	states     []pastState
	gaps       []pastGap
	bytes      int // of all earlier versions
	swept      time.Time
}

// earlier has the previous versions of a lock, oldest first.
type earlier struct {
	versions []version
	bytes    int // of the versions and of the map entry
}

// version was true from the end of the previous one until an instant, by our clock. lock is nil if
// there was none. merged means that other versions from this time were dropped.
type version struct {
	until  time.Time
	lock   *Lock
	merged bool
}

// pastState is all of a snapshot but its locks, valid until an instant.
type pastState struct {
	until    time.Time
	backends []*Backend
	reported []*Backend
	sessions map[string]map[int64]Session
	cycles   []Cycle
}

// pastGap is a gap and when it was reported.
type pastGap struct {
	at time.Time
	Gap
}

// NewPast keeps history as far back as keep (0 means all). Versions of a lock that lasted less than step
// are merged. Above about budget bytes, it thins out the locks that take the most.
func NewPast(keep, step time.Duration, budget int) *Past {
	return &Past{keep: keep, step: step, budget: budget, locks: make(map[ID]*earlier)}
}

// Add records a snapshot that is newer than the previous ones. Of its events it keeps only the
// gaps: a change in a gap cannot be distinguished from an observed one.
func (p *Past) Add(s *Snapshot) {
	own := *s
	own.Changed, own.Events, own.Dropped = nil, nil, 0
	own.locks.share() // At then changes copies of its pages
	if p.last == nil {
		p.first, p.swept, p.last = own.TakenAt, own.TakenAt, &own
		return
	}
	if own.TakenAt.Before(p.last.TakenAt) {
		own.TakenAt = p.last.TakenAt // the clock was set back
	}
	for _, e := range s.Events {
		if e.Kind == EventBlind {
			p.gaps = append(p.gaps, pastGap{own.TakenAt, Gap{e.Backend.Name, e.Between.From, e.Between.To}})
		}
	}
	before := p.last
	retire := func(id ID) {
		if was := before.Lock(id); !onlyListed(was, own.Lock(id)) {
			p.retire(id, was, own.TakenAt)
		}
	}
	own.locks.differing(&before.locks, func(l *Lock) { retire(l.ID) }, retire)
	p.recordState(before, &own)
	p.last = &own
	if p.keep > 0 && own.TakenAt.Sub(p.swept) > p.keep/16 {
		p.sweep(own.TakenAt.Add(-p.keep))
		p.swept = own.TakenAt
	}
	if p.bytes > p.budget {
		p.thin()
	}
}

// onlyListed reports whether nothing changed but that a contender, which had only been listed, has been read. The new
// version is then true for the time of the old one, too.
func onlyListed(was, is *Lock) bool {
	if was == nil || is == nil || len(was.Findings) != len(is.Findings) {
		return false
	}
	read := false
	same := func(a, b Contender) bool {
		read = read || a.Czxid == 0 && b.Czxid != 0
		return a.Name == b.Name && a.State == b.State && (a.Czxid == 0 || a.Czxid == b.Czxid)
	}
	return slices.EqualFunc(was.Holders, is.Holders, same) && slices.EqualFunc(was.Waiters, is.Waiters, same) && read
}

// retire keeps a version with the time until which it was true. It skips a version that
// came less than a step after the previous one; the next version covers its time.
func (p *Past) retire(id ID, was *Lock, until time.Time) {
	e := p.locks[id]
	if e == nil {
		e = &earlier{bytes: entrySize(id)}
		p.locks[id] = e
		p.bytes += e.bytes
	}
	if n := len(e.versions); n > 0 && until.Sub(e.versions[n-1].until) < p.step {
		return
	}
	e.versions = append(e.versions, version{until: until, lock: was})
	e.bytes += versionSize(was)
	p.bytes += versionSize(was)
}

// recordState keeps the parts of a snapshot other than its locks, at most once a second.
func (p *Past) recordState(before, s *Snapshot) {
	if slices.Equal(before.Backends, s.Backends) && sameSlice(before.cycles, s.cycles) {
		return
	}
	if n := len(p.states); n > 0 && s.TakenAt.Sub(p.states[n-1].until) < max(p.step, time.Second) {
		return
	}
	state := pastState{until: s.TakenAt, backends: before.Backends, reported: before.reported, cycles: before.cycles}
	sessions := 0
	for _, table := range before.sessions {
		sessions += len(table)
	}
	if sessions <= sessionsKept {
		state.sessions = before.sessions
	}
	p.states = append(p.states, state)
	if len(p.states) > statesKept {
		p.thinStates()
	}
}

// thinStates drops states, the closest first, to space them out. The next state covers the time of
// a dropped one.
func (p *Past) thinStates() {
	for apart := 2 * max(p.step, time.Second); len(p.states) > statesKept/4*3; apart *= 2 {
		last := p.first
		p.states = slices.DeleteFunc(p.states, func(s pastState) bool {
			if s.until.Sub(last) < apart {
				return true
			}
			last = s.until
			return false
		})
	}
}

func sameSlice(a, b []Cycle) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// sweep drops the states that were true only before a time.
func (p *Past) sweep(from time.Time) {
	if from.Before(p.first) {
		return
	}
	p.first = from
	for id, e := range p.locks {
		n := 0
		for n < len(e.versions) && !e.versions[n].until.After(from) {
			p.forget(e, versionSize(e.versions[n].lock))
			n++
		}
		if e.versions = slices.Delete(e.versions, 0, n); len(e.versions) == 0 {
			p.forget(e, e.bytes)
			delete(p.locks, id)
		}
	}
	p.states = slices.DeleteFunc(p.states, func(s pastState) bool { return !s.until.After(from) })
	p.gaps = slices.DeleteFunc(p.gaps, func(g pastGap) bool { return !g.at.After(from) })
}

func (p *Past) forget(e *earlier, bytes int) {
	e.bytes -= bytes
	p.bytes -= bytes
}

// thin halves the versions of the locks that take the most, until seven eighths of the budget are
// used. A lock that takes less than its share loses nothing.
func (p *Past) thin() {
	all := slices.Collect(maps.Values(p.locks))
	slices.SortFunc(all, func(a, b *earlier) int { return cmp.Compare(b.bytes, a.bytes) })
	aim := p.budget / 8 * 7
	for p.bytes > aim && len(all) > 0 {
		most := all[0].bytes
		halved := false
		for _, e := range all {
			if p.bytes <= aim || e.bytes < most/2 {
				break
			}
			halved = p.halve(e) || halved
		}
		if !halved {
			all = all[1:]
		}
		slices.SortFunc(all, func(a, b *earlier) int { return cmp.Compare(b.bytes, a.bytes) })
	}
	maps.DeleteFunc(p.locks, func(_ ID, e *earlier) bool { return len(e.versions) == 0 })
}

// halve merges every other version of a lock into the one that followed it. A single version is
// dropped, so that the newest version covers its time. It returns false if the lock had no version.
func (p *Past) halve(e *earlier) bool {
	n := len(e.versions)
	kept := e.versions[:0]
	for i, v := range e.versions {
		if i%2 == 0 {
			p.forget(e, versionSize(v.lock))
			continue
		}
		v.merged = true
		kept = append(kept, v)
	}
	clear(e.versions[len(kept):])
	if e.versions = kept; len(kept) == 0 {
		p.forget(e, e.bytes) // thin removes it
	}
	return n > 0
}

// Bytes is the approximate memory of all state that is not in the newest snapshot.
func (p *Past) Bytes() int { return p.bytes }

// From is the first moment with known state; zero before the first snapshot.
func (p *Past) From() time.Time { return p.first }

// To is the last moment with known state; zero before the first snapshot.
func (p *Past) To() time.Time {
	if p.last == nil {
		return time.Time{}
	}
	return p.last.TakenAt
}

// At returns the state at a moment, or nil if it is unknown. inexact counts the locks shown in a
// slightly later version, because the exact one was dropped.
func (p *Past) At(t time.Time) (s *Snapshot, inexact int) {
	if p.last == nil || t.Before(p.first) {
		return nil, 0
	}
	at := *p.last
	at.owners = &owners{} // not kept: for all moments together they would be large
	if t.Before(at.TakenAt) {
		at.TakenAt = t
	}
	for id, e := range p.locks {
		i := sort.Search(len(e.versions), func(i int) bool { return e.versions[i].until.After(t) })
		if i == len(e.versions) {
			continue
		}
		v := e.versions[i]
		if v.merged {
			inexact++
		}
		if v.lock == nil {
			at.locks.remove(id)
		} else {
			at.locks.put(v.lock)
		}
	}
	if i := sort.Search(len(p.states), func(i int) bool { return p.states[i].until.After(t) }); i < len(p.states) {
		state := &p.states[i]
		at.Backends, at.reported, at.sessions, at.cycles = state.backends, state.reported, state.sessions, state.cycles
	}
	if gaps := p.GapsAt(t); len(gaps) > 0 {
		at.Backends = downInGaps(at.Backends, gaps)
	}
	return &at, inexact
}

// GapsAt returns the gaps that contain a moment.
func (p *Past) GapsAt(t time.Time) []Gap {
	var gaps []Gap
	for _, g := range p.gaps {
		if t.After(g.From) && t.Before(g.Until) {
			gaps = append(gaps, g.Gap)
		}
	}
	return gaps
}

// downInGaps returns the backends, with those in a gap shown as down, since nothing is known about
// them then.
func downInGaps(backends []*Backend, gaps []Gap) []*Backend {
	own := slices.Clone(backends)
	for i, b := range own {
		for _, g := range gaps {
			if b.Name == g.Backend {
				blind := *b
				blind.State, blind.Error, blind.HeardAt = Down, "not watched for "+g.Until.Sub(g.From).Round(time.Second).String(), g.From
				own[i] = &blind
			}
		}
	}
	return own
}

// Moments are the instants at which something changed, in steps: the first known one, then each at
// which a version ended.
func (p *Past) Moments() []time.Time {
	if p.last == nil {
		return nil
	}
	all := []time.Time{p.first}
	for _, e := range p.locks {
		for _, v := range e.versions {
			all = append(all, v.until)
		}
	}
	for _, s := range p.states {
		all = append(all, s.until)
	}
	slices.SortFunc(all, time.Time.Compare)
	steps := all[:1]
	for _, t := range all[1:] {
		if t.Sub(steps[len(steps)-1]) >= p.step {
			steps = append(steps, t)
		}
	}
	if to := p.To(); to.After(steps[len(steps)-1]) {
		steps = append(steps, to)
	}
	return steps
}

// Of visits the versions of a lock from an instant on, newest last, each with the time when it
// became true. A nil version means that there was no such lock.
func (p *Past) Of(id ID, from time.Time, visit func(since time.Time, l *Lock)) {
	if p.last == nil {
		return
	}
	since := p.first
	if e := p.locks[id]; e != nil {
		for _, v := range e.versions {
			if v.until.After(from) {
				visit(since, v.lock)
			}
			since = v.until
		}
	}
	visit(since, p.last.Lock(id))
}

// Clone copies the past for another goroutine.
func (p *Past) Clone() *Past {
	own := *p
	own.locks = make(map[ID]*earlier, len(p.locks))
	for id, e := range p.locks {
		own.locks[id] = &earlier{slices.Clone(e.versions), e.bytes}
	}
	own.states, own.gaps = slices.Clone(p.states), slices.Clone(p.gaps)
	return &own
}

// Changes returns the ids of the locks that differ between two snapshots. Both should come from
// the same past: the parts that they share cost nothing.
func (s *Snapshot) Changes(before *Snapshot) []ID {
	ids := []ID{}
	s.locks.differing(&before.locks, func(l *Lock) { ids = append(ids, l.ID) },
		func(id ID) { ids = append(ids, id) })
	return ids
}

// Gaps returns the gaps reported after one time and up to another, earliest first.
func (p *Past) Gaps(after, to time.Time) []Gap {
	var gaps []Gap
	for _, g := range p.gaps {
		if g.at.After(after) && !g.at.After(to) {
			gaps = append(gaps, g.Gap)
		}
	}
	return gaps
}
