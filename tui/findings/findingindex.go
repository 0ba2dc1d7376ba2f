package findings

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// found is a finding in the list. on is its lock; for a backend's finding it only has the
// backend's name.
type found struct {
	inspect.Finding
	on inspect.ID
	// key identifies it among those on the same lock.
	key string
	// since is when it was first reported.
	since time.Time
	// cycle has all locks of a finding that appears on several, such as a deadlock. shadow is set
	// if it is listed on another of these locks.
	cycle  []string
	shadow bool

	group       *foundGroup
	source      *inspect.Finding // in the snapshot that it was made from
	match, gone bool
	// searched is the number of the search that the match result belongs to.
	searched int
	text     atomic.Pointer[foundText]
}

// aboutBackend reports whether it is about a backend instead of a lock.
func (f *found) aboutBackend() bool { return f.on.Path == "" }

// findingIndex keeps the findings of all locks and backends grouped, sorted and filtered. A
// change only costs a walk over the groups that it touches.
type findingIndex struct {
	words screen.Filter
	// searched numbers the searches.
	searched      int
	groups        []*foundGroup // the worst first
	sorted        []*foundGroup // the same in the order of the list
	order         order
	byID          map[inspect.ID][]*found
	cycles        map[string]map[*found]struct{}
	changedCycles map[string]struct{} // cycles that have changed
	// foundAt is screen.Context.FoundAt.
	foundAt func(inspect.ID, *inspect.Finding) (at time.Time, exact bool)
}

func NewFindingIndex(foundAt func(inspect.ID, *inspect.Finding) (at time.Time, exact bool)) *findingIndex {
	return &findingIndex{
		foundAt: foundAt,
		byID:    make(map[inspect.ID][]*found), cycles: make(map[string]map[*found]struct{}),
		changedCycles: make(map[string]struct{}),
	}
}

// Update copies the findings of all backends and of the changed locks, or of all locks. late is
// set if snapshots were missed, so that new findings may have existed for a while.
func (x *findingIndex) Update(s *inspect.Snapshot, msg screen.SnapshotMsg, late bool) {
	late = late || msg.All
	for _, b := range s.Backends {
		x.put(inspect.ID{Backend: b.Name}, b.Findings, s.TakenAt, late || !b.FirstPass)
	}
	if msg.All {
		x.all(s)
	}
	for _, id := range msg.Changed {
		b := s.Backend(id.Backend)
		if l := s.Lock(id); l != nil {
			x.put(id, l.Findings, s.TakenAt, late || b == nil || !b.FirstPass)
		} else {
			x.put(id, nil, s.TakenAt, false)
		}
	}
	x.settle()
}

// all copies the findings of all locks.
func (x *findingIndex) all(s *inspect.Snapshot) {
	places := 0
	for l := range s.Locks() {
		if len(l.Findings) > 0 {
			x.put(l.ID, l.Findings, s.TakenAt, true)
			places++
		}
	}
	for _, b := range s.Backends {
		if len(b.Findings) > 0 {
			places++
		}
	}
	if places == len(x.byID) {
		return // none of the listed locks has lost its findings
	}
	for id := range x.byID {
		if l := s.Lock(id); id.Path != "" && (l == nil || len(l.Findings) == 0) {
			x.put(id, nil, s.TakenAt, true)
		}
	}
}

// put copies the findings on one lock or backend.
func (x *findingIndex) put(on inspect.ID, list []inspect.Finding, now time.Time, early bool) {
	old := x.byID[on]
	if len(old) == 0 && len(list) == 0 || x.same(old, list) {
		return
	}
	var list_ []*found
	for i := range list {
		f := &found{
			Finding: list[i], on: on, key: findingKey(list[:i+1]), since: now, cycle: cycleOf(&list[i]),
			source: &list[i],
		}
		if at, exact := x.foundAt(on, &list[i]); exact || early && !at.IsZero() {
			f.since = at
		}
		if at := slices.IndexFunc(old, func(o *found) bool { return o.key == f.key }); at >= 0 {
			f.since = old[at].since
		}
		list_ = append(list_, f)
		x.enter(f)
	}
	for _, f := range old {
		f.gone, f.group.dirty = true, true
		f.group.left = append(f.group.left, f)
		x.leaveCycle(f)
	}
	if len(list_) == 0 {
		delete(x.byID, on)
	} else {
		x.byID[on] = list_
	}
}

// same updates findings in place if they are the previous ones, even with new texts.
func (x *findingIndex) same(old []*found, list []inspect.Finding) bool {
	if len(old) != len(list) {
		return false
	}
	if old[0].source == &list[0] {
		return true
	}
	for i, f := range old {
		is := &list[i]
		if f.key != findingKey(list[:i+1]) || f.Severity != is.Severity || f.group.muted != (is.Muted != nil) ||
			!slices.Equal(f.cycle, cycleOf(is)) {
			return false
		}
	}
	for i, f := range old {
		f.Finding, f.source = list[i], &list[i]
		if m := f.matches(x.words, f.source); m != f.match {
			f.match, f.group.dirty = m, true
		}
	}
	return true
}

func (x *findingIndex) enter(f *found) {
	f.group = x.group(&f.Finding)
	f.group.fresh, f.group.dirty = append(f.group.fresh, f), true
	f.match, f.searched = f.matches(x.words, f.source), x.searched
	if f.cycle == nil {
		return
	}
	name := f.cycleName()
	if x.cycles[name] == nil {
		x.cycles[name] = make(map[*found]struct{})
	}
	x.cycles[name][f] = struct{}{}
	x.changedCycles[name] = struct{}{}
}

func (x *findingIndex) leaveCycle(f *found) {
	if f.cycle == nil {
		return
	}
	name := f.cycleName()
	delete(x.cycles[name], f)
	if len(x.cycles[name]) == 0 {
		delete(x.cycles, name)
	}
	x.changedCycles[name] = struct{}{}
}

// group returns the group of a finding, and inserts a new one if needed.
func (x *findingIndex) group(f *inspect.Finding) *foundGroup {
	g := &foundGroup{Rule: f.Rule, severity: f.Severity, muted: f.Muted != nil}
	at, ok := slices.BinarySearchFunc(x.groups, g, compareGroups)
	if !ok {
		x.groups = slices.Insert(x.groups, at, g)
	}
	return x.groups[at]
}

// settle updates the groups that have changed.
func (x *findingIndex) settle() {
	for name := range x.changedCycles {
		first := true
		unmutedFirst := func(a, b *found) int { return cmp.Or(describe.WorstFirst(a.Finding, b.Finding), compareFound(a, b)) }
		for _, f := range slices.SortedFunc(maps.Keys(x.cycles[name]), unmutedFirst) {
			f.shadow, first = !first, false
			f.group.dirty = true
		}
	}
	clear(x.changedCycles)
	for _, g := range x.groups {
		if g.dirty {
			g.settle(x.words.Empty(), len(x.cycles) > 0)
		}
	}
	x.sort()
}

func compareFound(a, b *found) int { return cmp.Or(a.on.Compare(b.on), cmp.Compare(a.key, b.key)) }

// cycleName identifies a finding about several locks.
func (f *found) cycleName() string { return f.Rule + " " + strings.Join(f.cycle, " ") }

// Place is the lock or backend of a finding, escaped.
func (f *found) Place() string {
	if f.aboutBackend() {
		return describe.Printable(f.on.Backend)
	}
	return f.on.String()
}

// Rows counts the rows of the list, closed groups as one.
func (x *findingIndex) Rows() int {
	n := 0
	for _, g := range x.sorted {
		n += g.rows()
	}
	return n
}

// where counts the locks and backends with findings.
func (x *findingIndex) where() string {
	var p places
	for id := range x.byID {
		p.add(id, 1)
	}
	return "on " + p.String()
}

// places counts locks and backends.
type places struct{ locks, backends int }

func (p *places) add(id inspect.ID, n int) {
	if id.Path == "" {
		p.backends += n
	} else {
		p.locks += n
	}
}

func (p places) all() int { return p.locks + p.backends }

func (p places) String() string {
	count := func(n int, one string) string {
		if n != 1 {
			one += "s"
		}
		return describe.Thousands(n) + " " + one
	}
	switch {
	case p.locks == 0:
		return count(p.backends, "backend")
	case p.backends == 0:
		return count(p.locks, "lock")
	}
	return count(p.locks, "lock") + " and " + count(p.backends, "backend")
}

// fewRows is the largest number of findings that are measured for their column's width.
const fewRows = 500

// needs are the widths, in cells, of the widest rule and place in the list. place is 0 if there are
// too many to measure.
func (x *findingIndex) needs() (rule, place int) {
	n := 0
	for _, g := range x.sorted {
		if len(g.Shown) == 0 {
			continue
		}
		rule = max(rule, len(g.Rule))
		if g.folds() {
			rule = max(rule, len(g.Rule)+2) // the fold sign, or the indent of its findings
			place = max(place, len(onHowMany(g)))
		}
		n += len(g.Shown)
	}
	if n > fewRows {
		return rule, 0
	}
	for _, g := range x.sorted {
		for _, f := range g.Shown {
			width := widget.TextWidth(f.Place())
			if len(f.cycle) > 1 {
				width += len(" +99")
			}
			place = max(place, width)
		}
	}
	return rule, place
}

// Row is the group of a row, and its finding; nil for the row of the group itself.
func (x *findingIndex) Row(at int) (*foundGroup, *found) {
	for _, g := range x.sorted {
		switch n := g.rows(); {
		case at >= n:
			at -= n
		case !g.folds():
			return g, g.Shown[at]
		case at == 0:
			return g, nil
		default:
			return g, g.Shown[at-1]
		}
	}
	return nil, nil
}

// at is the row of a finding or, without one, of a group. For a finding in a closed group, it is
// the group's row; -1 if neither is listed.
func (x *findingIndex) at(g *foundGroup, f *found) int {
	n := 0
	for _, other := range x.sorted {
		if other != g {
			n += other.rows()
			continue
		}
		place := -1
		if f != nil {
			if i, ok := slices.BinarySearchFunc(g.Shown, f, compareFound); ok {
				place = i
			}
		}
		switch {
		case g.folds() && (place < 0 || !g.open):
			return n
		case place < 0:
			return -1
		case g.folds():
			return n + 1 + place
		default:
			return n + place
		}
	}
	return -1
}

// newest is the current version of a finding; nil if it is gone.
func (x *findingIndex) newest(f *found) *found {
	for _, other := range x.byID[f.on] {
		if other.key == f.key && !other.shadow {
			return other
		}
	}
	return nil
}

// first is the worst finding on a lock, or the listed one about the same cycle; nil if there is
// none.
func (x *findingIndex) first(on inspect.ID) *found {
	list := slices.Clone(x.byID[on])
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b *found) int { return compareGroups(a.group, b.group) })
	f := list[0]
	for other := range x.cycles[f.cycleName()] {
		if f.shadow && !other.shadow {
			return other
		}
	}
	return f
}
