package inspect

import (
	"slices"
	"time"
)

const (
	// beat is the interval at which some locks with time-dependent findings are checked. Each lock
	// is checked once every 20 beats. If that exceeds beatShare locks per beat, a round takes up
	// to mostBeats. This costs half a percent of a core.
	beat      = 100 * time.Millisecond
	beats     = 20
	mostBeats = 90
	beatShare = 200
	// rulesBudget limits the time for the rules in a beat to 5 % of a core. If that is too little, each
	// lock is checked as often as it allows.
	rulesBudget = beat * 5 / 100
)

// Diagnose makes the observer run these rules on every lock and backend when it changes. They also
// run every 2 s on a lock that has waiters or findings, can expire, or has no value with a quorum.
// With more than 4,000 such locks they run less often (see mostBeats). If a backend is read once,
// they run at the end. Their findings are added to those of the sources. stuckAfter is passed to
// the rules. Call Diagnose before Run.
func (o *Observer) Diagnose(rules []Rule, stuckAfter time.Duration) {
	o.rules, o.stuckAfter = rules, stuckAfter
}

// diagnosed returns l with the rules' current findings after its source's. It returns l itself if
// nothing changed.
func (o *Observer) diagnosed(p *backendState, l *Lock, now time.Time) *Lock {
	if len(o.rules) == 0 {
		return l
	}
	found := slices.Clip(l.Findings[:l.Observed.Reported])
	c := o.caseOf(p, l, now)
	var suspected []suspicion
	for i := range o.rules {
		r := &o.rules[i]
		if r.Lock == nil || r.NeedsHistory && c.History == nil {
			continue
		}
		of := r.Lock(c)
		if r.AsOf == nil || p.once() {
			found = append(found, of...)
			continue
		}
		for _, f := range of {
			suspected = append(suspected, suspicion{Finding: f, since: r.AsOf(c)})
		}
	}
	found = append(found, o.suspicions.settle(readingsOf(c), suspected, p.blindUntil, now)...)
	if found = o.muted(l.ID, found, now); sameFindings(found, l.Findings) {
		return l
	}
	d := *l
	d.Findings = found
	return &d
}

// caseOf fills in a lock's case. It reuses o.asked, so that an idle observer allocates nothing.
func (o *Observer) caseOf(p *backendState, l *Lock, now time.Time) *Case {
	watches := p.watchTable(l.ID)
	if p.state != nil && p.state.State == Down && now.After(p.blindFrom) {
		now = p.blindFrom
	}
	o.asked = Case{
		Lock: l, Backend: p.state, Now: now, Offset: p.state.ClockOffset(),
		Sessions: p.sessions, AllSessions: p.allSessions, SessionsAt: p.sessionsAt, Watches: watches,
		WatchesAre: p.ageOf(watches, now),
		History:    p.historyOf(l), Cycle: o.cycleOf[l.ID], StuckAfter: o.stuckAfter, Reach: o.reach,
		Spread: p.spreadNow(),
		Led:    o.led[l.ID],
	}
	return &o.asked
}

// diagnose runs the rules on a lock again.
func (o *Observer) diagnose(p *backendState, l *Lock, now time.Time) {
	d := o.diagnosed(p, l, now)
	if d == l {
		return
	}
	o.reportFindings(l.Findings, d.Findings, Event{At: now, Lock: l.ID})
	o.locks.put(d)
	o.changed[l.ID] = struct{}{}
}

// diagnoseAll runs the rules on a backend and all its locks.
func (o *Observer) diagnoseAll(p *backendState, now time.Time) {
	for l := range o.locks.all() {
		if l.ID.Backend == p.name {
			o.diagnose(p, l, now)
		}
	}
	o.diagnoseBackend(p, now)
}

// diagnoseBackend adds the rules' findings about a backend to its source's.
func (o *Observer) diagnoseBackend(p *backendState, now time.Time) {
	if p.state == nil {
		return
	}
	state := *p.state
	state.Spread, state.Reach, state.Outliers = p.spreadNow(), o.reach[p.name], p.outliers
	found := slices.Clip(p.state.Findings)
	for i := range o.rules {
		if r := &o.rules[i]; r.Backend != nil {
			found = append(found, r.Backend(&state, now)...)
		}
	}
	found = o.muted(ID{Backend: p.name}, found, now)
	before := p.shown
	if before != nil && sameFindings(before.Findings, found) && before.from == p.state {
		return
	}
	shown := state
	shown.Findings = found
	var old []Finding
	if before != nil {
		old = before.Findings
	}
	p.shown = &shownBackend{Backend: &shown, from: p.state}
	o.reportFindings(old, found, Event{At: now, Backend: &shown})
	o.dirty = true
}

// onBeat does the work that is due by time alone, and checks the next locks with time-dependent
// findings.
func (o *Observer) onBeat(now time.Time) {
	o.reportCleared(now)
	o.dropPassed(now)
	if len(o.rules) == 0 {
		return
	}
	o.judgeSpreads(now)
	if o.mutesChanged() {
		for _, p := range o.backends {
			if !p.once() {
				o.diagnoseAll(p, now)
			}
		}
	}
	if o.beaten++; o.beaten%beats == 0 {
		for _, p := range o.backends {
			if !p.once() {
				o.diagnoseBackend(p, now)
			}
		}
	}
	o.recheck(now)
	o.lapped = o.lap(o.lapped, now)
}

// lap runs the rules on the next locks whose findings may change, and returns where to continue.
func (o *Observer) lap(from ID, now time.Time) ID {
	began, looked, asked := o.worked(), 0, 0
	in := func(beats int) int { return (o.locks.len() + beats - 1) / beats }
	share := max(in(mostBeats), min(in(beats), beatShare))
	for l := range o.locks.from(from) {
		if looked == share || asked == 16 && o.worked().Sub(began) > rulesBudget {
			return l.ID
		}
		if asked == 16 {
			asked = 0
		}
		looked++
		if !ages(l) {
			continue
		}
		asked++
		// Findings on a state read before we lost sight do not depend on time.
		if p := o.byName[l.ID.Backend]; p.state != nil && !p.once() && !p.blind(l.ReadAt, now, o.locks.len()) {
			o.diagnose(p, l, now)
		}
	}
	return ID{} // from the beginning again
}

// ages reports whether the findings of an unchanged lock may change.
func ages(l *Lock) bool {
	if len(l.Waiters) > 0 || l.WaitersAtLeast > 0 || len(l.Findings) > l.Observed.Reported {
		return true
	}
	expires := len(l.Holders) > 0 && !l.Holders[0].ExpiresAt.IsZero()
	return expires || l.State == StateSplit || l.State == StateMinority
}

// finish runs the rules on the backends that were read once.
func (o *Observer) finish(now time.Time) {
	o.passing = false
	o.setCycles(o.lastCycles(now), now)
	o.setOutliers(findOutliers(o.locks.all()), now)
	for _, p := range o.backends {
		if p.once() || !p.firstPassDone {
			o.diagnoseAll(p, now)
		}
	}
}

// setOutliers records the clients with far more entries than their peers. It runs the rules on the
// backends whose outliers changed.
func (o *Observer) setOutliers(found map[string][]Outlier, now time.Time) {
	for _, p := range o.backends {
		if list := found[p.name]; !slices.Equal(list, p.outliers) {
			p.outliers = list
			if !p.once() {
				o.diagnoseBackend(p, now)
			}
		}
	}
}

// queuesChanged notes that cycles may have come or gone; new ones count only once they have lasted.
func (o *Observer) queuesChanged(now time.Time) {
	o.cyclesStale, o.cyclesAgain = true, now.Add(SettleFor)
}

// cyclesDue reports whether it is time to search for cycles.
func (o *Observer) cyclesDue(now time.Time) bool {
	if !o.cyclesAgain.IsZero() && !now.Before(o.cyclesAgain) {
		o.cyclesStale, o.cyclesAgain = true, time.Time{}
	}
	return o.cyclesStale
}

// settledCycles leaves out cycles not known to have lasted for SettleFor: a lock may have been out of
// sight.
func (o *Observer) settledCycles(cycles []Cycle, now time.Time) []Cycle {
	return slices.DeleteFunc(slices.Clone(cycles), func(c Cycle) bool {
		for _, id := range c.Locks {
			l, p := o.locks.get(id), o.byName[id.Backend]
			if l == nil || p == nil || l.AsOf(p.state, now).Sub(c.Since) < SettleFor {
				o.cyclesAgain = now.Add(cyclesEvery)
				return true
			}
		}
		return false
	})
}

// lastCycles returns the cycles found after all sources have ended.
func (o *Observer) lastCycles(now time.Time) []Cycle {
	if watched(o.backends) {
		return o.settledCycles(o.deadlocks.find(o.locks.all(), now), now)
	}
	cycles := findCycles(o.locks.all())
	if o.before == nil {
		for i := range cycles {
			cycles[i].OneLook = true
		}
		return cycles
	}
	look := &Snapshot{locks: o.locks.share()}
	return slices.DeleteFunc(cycles, func(c Cycle) bool { return !c.unchanged(look, o.before) })
}

// setCycles stores the wait-for cycles, and runs the rules on the locks in those that came or
// went. If a lock is in several, the first counts.
func (o *Observer) setCycles(cycles []Cycle, now time.Time) {
	if slices.EqualFunc(cycles, o.cycles, func(a, b Cycle) bool { return a.equal(&b) }) {
		return
	}
	touched := o.cycleOf
	o.cycles, o.cycleOf = cycles, make(map[ID]*Cycle)
	for i := range cycles {
		for _, id := range cycles[i].Locks {
			if o.cycleOf[id] == nil {
				o.cycleOf[id] = &cycles[i]
			}
		}
	}
	o.dirty = true
	for _, m := range []map[ID]*Cycle{touched, o.cycleOf} {
		for id := range m {
			if l, p := o.locks.get(id), o.byName[id.Backend]; l != nil && p != nil && !p.once() {
				o.diagnose(p, l, now)
			}
		}
	}
}
