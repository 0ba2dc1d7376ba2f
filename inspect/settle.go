package inspect

import (
	"reflect"
	"slices"
	"time"
)

// SettleFor is how long the state behind a finding must last before it is reported, if one look may
// see a state halfway (see [Rule.AsOf]). A client that asks one master after the other, sets its
// watch after its node or moves to another server takes less.
const SettleFor = time.Second

// suspicion is a finding that may pass, with the time of the read, by our clock, since which it has
// lasted. Settled ones are reported.
type suspicion struct {
	Finding
	since   time.Time
	settled bool
}

// suspicions are findings that may pass, and the locks to ask about again, the soonest first.
type suspicions struct {
	of     map[ID][]suspicion
	due    []dueSuspicion
	queued map[ID]struct{} // those in due
}

type dueSuspicion struct {
	lock ID
	at   time.Time
}

// settle records a lock's findings that may pass, each with the time as of which it is known. It
// removes those that have not lasted long enough. blindUntil is the end of our last gap: a state
// that was not yet reported may not have lasted through it.
func (s *suspicions) settle(id ID, found []suspicion, blindUntil, now time.Time) (settled []Finding) {
	before := s.of[id]
	if len(found) == 0 {
		if before != nil {
			delete(s.of, id)
		}
		return nil
	}
	unsettled := false
	for i := range found {
		f := &found[i]
		if j := slices.IndexFunc(before, func(b suspicion) bool { return stillSays(&b.Finding, &f.Finding) }); j >= 0 {
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
	if s.of == nil {
		s.of, s.queued = make(map[ID][]suspicion), make(map[ID]struct{})
	}
	s.of[id] = found
	if _, queued := s.queued[id]; unsettled && !queued {
		s.queued[id] = struct{}{}
		s.due = append(s.due, dueSuspicion{id, now.Add(SettleFor)})
	}
	return settled
}

// next takes out a lock that is to be asked about again; false when none is yet.
func (s *suspicions) next(now time.Time) (ID, bool) {
	if len(s.due) == 0 || s.due[0].at.After(now) {
		return ID{}, false
	}
	id := s.due[0].lock
	s.due = s.due[1:]
	delete(s.queued, id)
	return id, true
}

// recheck asks the rules about the locks of which something was found that may pass, as soon as it may have
// stood for long enough.
func (o *Observer) recheck(now time.Time) {
	for id, ok := o.suspicions.next(now); ok; id, ok = o.suspicions.next(now) {
		if l := o.locks.get(id); l != nil {
			o.diagnose(o.byName[id.Backend], l, now)
		}
	}
}

// Lasting returns the snapshot without the findings about locks that an earlier one did not have, of the rules that
// passing names: what one look sees halfway is gone at the next. Votes that have changed since are another state of the
// lock.
func (s *Snapshot) Lasting(before *Snapshot, passing func(rule string) bool) *Snapshot {
	lasting := *s
	lasting.locks, lasting.owners = table{}, &owners{}
	for l := range s.Locks() {
		var had []Finding
		if was := before.Lock(l.ID); was != nil {
			had = was.Findings
		}
		kept := slices.DeleteFunc(slices.Clone(l.Findings), func(f Finding) bool {
			return passing(f.Rule) && !slices.ContainsFunc(had, func(was Finding) bool { return stillSays(&was, &f) })
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

// stillSays reports whether a finding is about the same as the one before: the same contender and votes.
func stillSays(was, is *Finding) bool {
	same := func(key string) bool { return reflect.DeepEqual(was.Evidence[key], is.Evidence[key]) }
	return was.Key() == is.Key() && same("masters") && same("without")
}
