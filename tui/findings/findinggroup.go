package findings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
)

// foundGroup holds the findings of one rule and severity. Muted findings have their own group.
type foundGroup struct {
	Rule     string
	severity inspect.Severity
	muted    bool
	// all are sorted by lock or backend. Shown holds those that match and are not shadows.
	all, Shown []*found
	// count leaves shadows out.
	count int
	// open is set while its findings are listed below it.
	open bool
	// settle adds fresh and drops left. dirty is set if there is something to settle.
	fresh, left []*found
	dirty       bool
	// cachedOldest is the oldest finding shown, and places counts their locks and backends; nil and 0
	// until computed.
	cachedOldest *found
	places       places
}

// foldedFrom is how many findings a group needs to fold into one row.
const foldedFrom = 3

func (g *foundGroup) folds() bool { return len(g.Shown) >= foldedFrom }

// rows is the number of list rows that the group takes.
func (g *foundGroup) rows() int {
	switch {
	case !g.folds():
		return len(g.Shown)
	case g.open:
		return 1 + len(g.Shown)
	default:
		return 1
	}
}

// compareGroups sorts the worst first, then blind spots, and muted findings last.
func compareGroups(a, b *foundGroup) int {
	return cmp.Or(cmp.Compare(badness(a), badness(b)), cmp.Compare(a.Rule, b.Rule), cmp.Compare(b.severity.Rank(), a.severity.Rank()))
}

func badness(g *foundGroup) int {
	switch {
	case g.muted:
		return 2
	case g.Rule == blindRule:
		return 1
	}
	return -g.severity.Rank()
}

// blindRule is the rule for blind spots, which are not problems.
const blindRule = "blind"

// fewChanges is the most changes applied one by one if everything is shown; more need a full walk.
const fewChanges = 16

// settle adds the fresh findings, drops those that are gone, and lists those that are shown.
// shadows is set if some may be shadows.
func (g *foundGroup) settle(everything, shadows bool) {
	if everything && !shadows && g.count == len(g.all) && len(g.fresh)+len(g.left) <= fewChanges {
		g.edit()
		return
	}
	slices.SortFunc(g.fresh, compareFound)
	fresh := g.fresh
	all := make([]*found, 0, len(g.all)+len(fresh))
	for _, f := range g.all {
		if f.gone {
			continue
		}
		for len(fresh) > 0 && compareFound(fresh[0], f) < 0 {
			all, fresh = append(all, fresh[0]), fresh[1:]
		}
		all = append(all, f)
	}
	g.all, g.fresh, g.left, g.dirty = append(all, fresh...), nil, nil, false
	g.show(everything)
}

// edit settles a group that is shown completely.
func (g *foundGroup) edit() {
	near := func(at int, f *found) int { // neighbours on the same lock, 0 to 2
		n := 0
		for _, i := range []int{at - 1, at} {
			if i >= 0 && i < len(g.all) && g.all[i].on == f.on {
				n++
			}
		}
		return n
	}
	counted := g.places.all() > 0
	for _, f := range g.left {
		at, ok := slices.BinarySearchFunc(g.all, f, compareFound)
		if !ok {
			continue // it came and went
		}
		g.all = slices.Delete(g.all, at, at+1)
		if near(at, f) == 0 {
			g.places.add(f.on, -1)
		}
		if g.cachedOldest == f {
			g.cachedOldest = nil
		}
	}
	for _, f := range g.fresh {
		if f.gone {
			continue
		}
		at, _ := slices.BinarySearchFunc(g.all, f, compareFound)
		if near(at, f) == 0 {
			g.places.add(f.on, 1)
		}
		g.all = slices.Insert(g.all, at, f)
		if g.cachedOldest != nil && f.since.Before(g.cachedOldest.since) {
			g.cachedOldest = f
		}
	}
	if !counted {
		g.places = places{}
	}
	g.Shown, g.count, g.fresh, g.left, g.dirty = g.all, len(g.all), nil, nil, false
}

func (g *foundGroup) show(everything bool) {
	g.count, g.cachedOldest, g.places = 0, nil, places{}
	for _, f := range g.all {
		if !f.shadow {
			g.count++
		}
	}
	if everything && g.count == len(g.all) {
		g.Shown = g.all
		return
	}
	g.Shown = nil
	for _, f := range g.all {
		if !f.shadow && f.match {
			g.Shown = append(g.Shown, f)
		}
	}
}

// findingKey identifies the last finding of list among those on the same lock: by its key,
// and a number if the key is not unique.
func findingKey(list []inspect.Finding) string {
	last := list[len(list)-1].Key()
	number := 0
	for i := range list[:len(list)-1] {
		if list[i].Rule == list[len(list)-1].Rule && list[i].Key() == last {
			number++
		}
	}
	if number > 0 {
		return fmt.Sprintf("%s\x00%d", last, number)
	}
	return last
}

// cycleOf returns the locks of a finding that appears on several.
func cycleOf(f *inspect.Finding) []string {
	if len(f.Subject.Locks) < 2 {
		return nil
	}
	ids := make([]string, len(f.Subject.Locks))
	for i, id := range f.Subject.Locks {
		ids[i] = id.String()
	}
	return ids
}
