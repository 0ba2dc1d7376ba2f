package inspect

import (
	"cmp"
	"reflect"
	"slices"
	"time"
)

// SettleFor is how long the state behind a finding must last before it is reported, if one look may
// catch a change halfway (see [Rule.AsOf]). Clients need less time to ask one master after another,
// set a watch after creating a node, or move to another server.
const SettleFor = time.Second

// suspicion is a finding that may pass. It has lasted since the read that first showed it, dated by
// our clock. Settled suspicions are reported.
type suspicion struct {
	Finding
	since   time.Time
	settled bool
}

// suspicions are findings that may pass, and the locks to check again, soonest first.
type suspicions struct {
	of     map[ID]suspected
	due    []dueSuspicion
	queued map[ID]struct{} // those in due
}

// suspected holds a lock's findings that may pass, and the readings behind them.
type suspected struct {
	list []suspicion
	readings
}

// readings identify the input of the rules whose findings may pass.
type readings struct {
	lock                    ID
	read, watches, sessions time.Time
	watchesAre              TableAge
}

func readingsOf(c *Case) readings {
	r := readings{lock: c.Lock.ID, read: c.Lock.ReadAt, sessions: c.SessionsAt, watchesAre: c.WatchesAre}
	if c.Watches != nil {
		r.watches = c.Watches.ReadAt
	}
	return r
}

type dueSuspicion struct {
	lock ID
	at   time.Time
}

// settle records a lock's findings that may pass, each with the time of its input. It returns those
// that have lasted long enough. blindUntil is the end of our last gap; a state not yet reported may
// not have lasted through it.
func (s *suspicions) settle(by readings, found []suspicion, blindUntil, now time.Time) (settled []Finding) {
	id := by.lock
	known, had := s.of[id]
	if !had && len(found) == 0 {
		return nil
	}
	before, unsettled := known.list, false
	for i := range found {
		f := &found[i]
		if j := slices.IndexFunc(before, func(b suspicion) bool { return sameEvidence(&b.Finding, &f.Finding) }); j >= 0 {
			b := &before[j]
			f.settled = b.settled
			if b.since.Before(f.since) && b.since.After(blindUntil) {
				f.settled = f.settled || f.since.Sub(b.since) >= SettleFor
				f.since = b.since
			}
		}
		if f.settled {
			settled = append(settled, f.Finding)
		}
		unsettled = unsettled || !f.settled
	}
	if known.readings == by {
		found = append(found, silenced(before, found)...)
	}
	if len(found) == 0 {
		delete(s.of, id)
		return nil
	}
	if s.of == nil {
		s.of, s.queued = make(map[ID]suspected), make(map[ID]struct{})
	}
	s.of[id] = suspected{found, by}
	if _, queued := s.queued[id]; unsettled && !queued {
		s.queued[id] = struct{}{}
		s.due = append(s.due, dueSuspicion{id, now.Add(SettleFor)})
	}
	return settled
}

// silenced returns the suspicions that are no longer found. If nothing was read since, they may
// come back: a rule is silent while the target is suspect.
func silenced(before, found []suspicion) (list []suspicion) {
	for i := range before {
		b := &before[i]
		if !slices.ContainsFunc(found, func(f suspicion) bool { return sameEvidence(&b.Finding, &f.Finding) }) {
			list = append(list, *b)
		}
	}
	return list
}

// next removes and returns a lock that is due for a second look; false if none is due.
func (s *suspicions) next(now time.Time) (ID, bool) {
	if len(s.due) == 0 || s.due[0].at.After(now) {
		return ID{}, false
	}
	id := s.due[0].lock
	s.due = s.due[1:]
	delete(s.queued, id)
	return id, true
}

// recheck runs the rules on locks with findings that may pass, as soon as they may have lasted
// long enough.
func (o *Observer) recheck(now time.Time) {
	for id, ok := o.suspicions.next(now); ok; id, ok = o.suspicions.next(now) {
		if l := o.locks.get(id); l != nil {
			o.diagnose(o.byName[id.Backend], l, now)
		}
	}
}

// Lasting removes the findings about locks that an earlier snapshot did not have, if passing
// accepts their rule. A change that one look caught halfway is complete at the next. If the votes
// have changed, the lock is in another state.
func (s *Snapshot) Lasting(before *Snapshot, passing func(rule string) bool) *Snapshot {
	lasting := *s
	lasting.locks, lasting.owners = table{}, &owners{}
	for l := range s.Locks() {
		var had []Finding
		if was := before.Lock(l.ID); was != nil {
			had = was.Findings
		}
		kept := slices.DeleteFunc(slices.Clone(l.Findings), func(f Finding) bool {
			return passing(f.Rule) && !slices.ContainsFunc(had, func(was Finding) bool { return sameEvidence(&was, &f) })
		})
		if len(kept) < len(l.Findings) {
			settled := *l
			settled.Findings = kept
			l = &settled
		}
		lasting.locks.put(l)
	}
	return &lasting
}

// sameEvidence reports whether two findings are about the same contender and votes.
func sameEvidence(was, is *Finding) bool {
	same := func(key string) bool { return reflect.DeepEqual(was.Evidence[key], is.Evidence[key]) }
	return was.Key() == is.Key() && same("masters") && same("without")
}

// debounce delays the end of a finding, since some come and go with every handoff.
const debounce = 5 * time.Second

// findingKey identifies a finding of a lock or, with an empty path, of a backend.
type findingKey struct {
	about   ID
	subject string
}

// reportFindings reports new findings, and records those that ended. A finding that soon comes back
// counts as never ended.
func (o *Observer) reportFindings(was, is []Finding, e Event) {
	about := e.Lock
	if e.Backend != nil {
		about = ID{Backend: e.Backend.Name}
	}
	for _, e := range compareFindings(was, is, e) {
		key := findingKey{about, e.Finding.Key()}
		before, again := o.cleared[key]
		delete(o.cleared, key)
		switch {
		case e.Kind == EventCleared:
			o.cleared[key] = e
			o.clearing = append(o.clearing, clearing{key, e.At})
		case !again || e.Finding.Severity.Rank() > before.Finding.Severity.Rank():
			o.events = append(o.events, e)
		}
	}
}

// clearing is a finding and when it was cleared.
type clearing struct {
	findingKey
	at time.Time
}

// reportCleared reports the findings that have been gone for long enough.
func (o *Observer) reportCleared(now time.Time) {
	var gone []findingKey
	for len(o.clearing) > 0 && now.Sub(o.clearing[0].at) >= debounce {
		first := o.clearing[0]
		o.clearing = o.clearing[1:]
		if e, ok := o.cleared[first.findingKey]; ok && e.At.Equal(first.at) { // it has not come back since
			gone = append(gone, first.findingKey)
		}
	}
	slices.SortFunc(gone, func(a, b findingKey) int {
		return cmp.Or(a.about.Compare(b.about), cmp.Compare(a.subject, b.subject))
	})
	for _, key := range slices.Compact(gone) {
		e := o.cleared[key]
		e.At = now
		o.events = append(o.events, e)
		o.dirty = true
		delete(o.cleared, key)
	}
}
