package inspect

import (
	"cmp"
	"slices"
)

// Difference compares a lock at two moments, or a backend if Lock is zero.
type Difference struct {
	Lock    ID
	Backend string
	// From and To are the two versions of the lock; nil if it did not exist.
	From, To *Lock
	// Acquired are the new holders and Ended the former ones. Joined are the new waiters and Left
	// the former ones. Contenders are not compared if the lock's state is unknown at either
	// moment.
	Acquired, Ended, Joined, Left []*Contender
	// New and Gone are findings, identified by their rule and subject. New includes those that
	// became more severe.
	New, Gone []*Finding
	// Was and Is are the states of a backend.
	Was, Is BackendState
}

// NotCompared is a backend that was unknown at one of two moments, so that its locks cannot be compared.
type NotCompared struct{ Backend, Reason string }

// Differences compares two snapshots. It lists backends first, then locks by their ids. For
// backends in skipped it lists at most the backend itself.
func Differences(from, to *Snapshot) (list []Difference, skipped []NotCompared) {
	done, unknown := make(map[string]bool), make(map[string]bool)
	for _, b := range slices.Concat(from.Backends, to.Backends) {
		name := b.Name
		if done[name] {
			continue
		}
		done[name] = true
		was, is := from.Backend(name), to.Backend(name)
		if reason := notComparable(was, is); reason != "" {
			unknown[name] = true
			skipped = append(skipped, NotCompared{name, reason})
		}
		if was == nil || is == nil {
			continue
		}
		d := Difference{Backend: name, Was: was.State, Is: is.State}
		d.findings(was.Findings, is.Findings)
		if d.Was != d.Is || d.New != nil || d.Gone != nil {
			list = append(list, d)
		}
	}
	backends := len(list)
	for l := range to.Locks() {
		if was := from.Lock(l.ID); was != l && !unknown[l.ID.Backend] {
			list = appendChanged(list, was, l)
		}
	}
	for l := range from.Locks() {
		if to.Lock(l.ID) == nil && !unknown[l.ID.Backend] {
			list = appendChanged(list, l, nil)
		}
	}
	slices.SortFunc(list[backends:], func(a, b Difference) int { return a.Lock.Compare(b.Lock) })
	return list, skipped
}

// notComparable returns why a backend's locks cannot be compared; empty if they can be.
func notComparable(was, is *Backend) string {
	for _, side := range []struct {
		name string
		*Backend
	}{{"first snapshot", was}, {"second snapshot", is}} {
		switch {
		case side.Backend == nil:
			return "missing from the " + side.name
		case !side.FirstPass:
			return "not yet read completely in the " + side.name
		}
	}
	return ""
}

// appendChanged appends the difference between two versions of a lock, if any. At most one of them
// is nil.
func appendChanged(list []Difference, was, is *Lock) []Difference {
	d := Difference{Lock: cmp.Or(was, is).ID, Backend: cmp.Or(was, is).ID.Backend, From: was, To: is}
	before, now := cmp.Or(was, &Lock{}), cmp.Or(is, &Lock{})
	if before.State != StateUnknown && now.State != StateUnknown {
		d.contenders(before, now)
	}
	d.findings(before.Findings, now.Findings)
	changes := len(d.Acquired) + len(d.Ended) + len(d.Joined) + len(d.Left) + len(d.New) + len(d.Gone)
	if was != nil && is != nil && was.State == is.State && changes == 0 {
		return list
	}
	return append(list, d)
}

func (d *Difference) contenders(was, is *Lock) {
	before, now := indexOf(was), indexOf(is)
	holds := func(x index, c *Contender) bool {
		other, same := x.same(c)
		return same && other.State == Holding
	}
	for i := range is.Holders {
		if c := &is.Holders[i]; !holds(before, c) {
			d.Acquired = append(d.Acquired, c)
		}
	}
	for i := range was.Holders {
		if c := &was.Holders[i]; !holds(now, c) {
			d.Ended = append(d.Ended, c)
		}
	}
	for i := range is.Waiters {
		if c := &is.Waiters[i]; !before.has(c) {
			d.Joined = append(d.Joined, c)
		}
	}
	for i := range was.Waiters {
		if c := &was.Waiters[i]; !now.has(c) {
			d.Left = append(d.Left, c)
		}
	}
}

func (d *Difference) findings(was, is []Finding) {
	for _, e := range compareFindings(was, is, Event{}) {
		if e.Kind == EventFinding {
			d.New = append(d.New, e.Finding)
		} else {
			d.Gone = append(d.Gone, e.Finding)
		}
	}
}
