package inspect

import (
	"reflect"
	"slices"
)

// Lasting is the snapshot without the findings about locks that an earlier one did not have, of the rules that passing names:
// what one look sees halfway is gone at the next. Votes that have changed since are another state of the lock.
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

// stillSays says that a finding is about the same as the one before, by the same votes.
func stillSays(was, is *Finding) bool {
	same := func(key string) bool { return reflect.DeepEqual(was.Evidence[key], is.Evidence[key]) }
	return was.Key() == is.Key() && same("masters") && same("without")
}
