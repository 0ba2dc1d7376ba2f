package findings

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// order is a way to sort the groups of findings: by one of sortings, perhaps reversed.
type order struct {
	by       int
	reversed bool
}

// sortings are the orders of the groups; the first one is the default.
var sortings = []struct {
	name    string
	compare func(a, b *foundGroup) int
}{
	{"worst", compareGroups},
	{"oldest", func(a, b *foundGroup) int { return a.opened().Compare(b.opened()) }},
	{"newest", func(a, b *foundGroup) int { return b.newest().Compare(a.newest()) }},
	{"most", func(a, b *foundGroup) int { return cmp.Compare(len(b.Shown), len(a.Shown)) }},
	{"rule", func(a, b *foundGroup) int { return strings.Compare(a.Rule, b.Rule) }},
}

func (o order) String() string {
	if o.reversed {
		return sortings[o.by].name + ", reversed"
	}
	return sortings[o.by].name
}

// opened is the start of the group's oldest finding; zero if none is shown.
func (g *foundGroup) opened() time.Time {
	if len(g.Shown) == 0 {
		return time.Time{}
	}
	return g.oldest().since
}

// newest is the start of the group's newest finding; zero if none is shown.
func (g *foundGroup) newest() (at time.Time) {
	for _, f := range g.Shown {
		if f.since.After(at) {
			at = f.since
		}
	}
	return at
}

// sort sorts the groups in the order of the list, and ties by severity, the worst first. Muted
// findings come last.
func (x *findingIndex) sort() {
	if x.order == (order{}) {
		x.sorted = x.groups
		return
	}
	x.sorted = slices.Clone(x.groups)
	slices.SortStableFunc(x.sorted, func(a, b *foundGroup) int {
		c := sortings[x.order.by].compare(a, b)
		if x.order.reversed {
			c = -c
		}
		switch {
		case a.muted == b.muted:
			return c
		case a.muted:
			return 1
		default:
			return -1
		}
	})
}

// nextOrder switches to the next order.
func (s *Screen) nextOrder() { s.sortBy(order{by: (s.Index.order.by + 1) % len(sortings)}) }

func (s *Screen) reverse() { s.sortBy(order{s.Index.order.by, !s.Index.order.reversed}) }

// sortBy shows the list in another order; the cursor stays with its finding.
func (s *Screen) sortBy(o order) {
	s.Index.order, s.moved = o, s.moved || s.group != nil
	s.Index.sort()
	s.follow()
	s.Flash("sorted by: " + o.String())
}
