package locks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// Incremental updates must give the same result as a full rebuild, in every arrangement.
func TestIndexUpdatesMatchRebuild(t *testing.T) {
	t.Parallel()
	var arrangements []arrangement
	for _, by := range allColumns {
		for _, reversed := range []bool{false, true} {
			arrangements = append(arrangements,
				arrangement{Order: order{by, reversed}, Filter: screen.NewFilter("lock !free")}, arrangement{Order: order{by, reversed}, Grouped: true})
		}
	}
	locks := make(map[inspect.ID]*inspect.Lock)
	updated := make([]*Index, len(arrangements))
	empty := inspect.NewSnapshot(fixture.Noon, nil, nil)
	for i, a := range arrangements {
		updated[i] = NewIndex(t.Context(), empty, a, fixture.Noon)
	}
	opened := map[Prefix]bool{{"zk", "/dir-2/"}: true, {"zk", "/dir-4/"}: true, {"zk", "/nowhere/"}: true}
	for step := range 300 {
		id := inspect.ID{Backend: "zk", Path: fmt.Sprintf("/dir-%d/lock-%d", step*31%7, step*7919%97)}
		locks[id] = fixture.SomeLock(id, step)
		if step%11 == 0 {
			delete(locks, id)
		}
		var list []*inspect.Lock
		for _, l := range locks {
			list = append(list, l)
		}
		s := inspect.NewSnapshot(fixture.Noon, nil, list)
		for i, a := range arrangements {
			x := updated[i]
			x.update(s, []inspect.ID{id}, fixture.Noon)
			if step%10 == 0 {
				x.settle(fixture.In(lineKept))
				sameIndex(t, fmt.Sprintf("%v step %d", a.Order, step), x, NewIndex(t.Context(), s, a, fixture.Noon), opened)
			}
		}
	}
}

func TestNewIndexEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Equal(t, len(NewIndex(ctx, fixture.Everything(), arrangement{}, fixture.Noon).Rows), 0, "rows of a cancelled arrangement")
}

func TestPrefixes(t *testing.T) {
	for path, want := range map[string]string{
		"/locks/orders": "/locks/", "/orders": "/", "lock:cart:42": "lock:cart:", "lock": "", "a/b:c": "a/b:", "/": "", "lock:": "", "": "",
	} {
		must.Equal(t, prefixOf(inspect.ID{Backend: "b", Path: path}).Path, want, path)
	}
}

func TestSortedMatchesPlainSlice(t *testing.T) {
	compare := func(a, b int) int { return a - b }
	s := newSorted(compare, nil)
	want := []int{}
	r := rand.New(rand.NewPCG(1, 2))
	check := func() {
		t.Helper()
		got := slices.Concat(s.pages...)
		must.Same(t, got, want)
		must.Equal(t, s.count, len(want), "count")
		for _, p := range s.pages {
			must.True(t, 0 < len(p) && len(p) < 2*pageSize, "a page of", len(p))
		}
	}
	for step := range 20_000 {
		n := r.IntN(5000)
		at, found := slices.BinarySearch(want, n)
		if r.IntN(100) < 20+60*(step/10_000) { // it grows in the first half, and shrinks in the second
			must.Equal(t, s.remove(n), found, "removed", n)
			if found {
				want = slices.Delete(want, at, at+1)
			}
		} else {
			s.insert(n)
			if !found {
				want = slices.Insert(want, at, n)
			}
			must.Equal(t, s.place(n), at, "place of", n)
		}
	}
	check()
	for _, from := range []int{0, 1, 255, 256, 700, len(want) - 3, len(want), len(want) + 9} {
		end := min(from+300, len(want))
		must.Same(t, s.slice(from, 300), want[min(from, len(want)):end], "slice from", from)
	}
	must.True(t, s.place(-1) == -1 && !s.remove(99_999), "a missing row was found")
	for _, n := range slices.Clone(want) {
		s.remove(n)
	}
	want = []int{}
	check()
	s = newSorted(compare, []int{1, 3, 5})
	s.insert(4)
	want = []int{1, 3, 4, 5}
	check()
}

func sameIndex(t *testing.T, what string, got, want *Index, opened map[Prefix]bool) {
	t.Helper()
	list := func(x *Index) (things []Selection) {
		for i, e := range x.Slice(opened, 0, 1<<20) {
			must.Equal(t, x.Line(opened, e.Selection()), i, what, e.Selection(), "is at line")
			things = append(things, e.Selection())
		}
		return things
	}
	for _, missing := range []Selection{{Lock: fixture.Id("zk:/nowhere/x")}, {group: Prefix{"zk", "/nowhere/"}}} {
		must.Equal(t, got.Line(opened, missing), -1, what, missing)
	}
	a, b := list(got), list(want)
	must.Same(t, a, b, what)
	must.Equal(t, got.Lines(opened), len(a), what, "lines")
	must.Equal(t, got.Findings, want.Findings, what, "findings")
	counts := func(x *Index) []int { return []int{x.Shown, x.Contended, len(x.Rows)} }
	must.Same(t, counts(got), counts(want), what, "shown, contended and all rows")
	for from := range len(a) {
		var part []Selection
		for _, e := range got.Slice(opened, from, 5) {
			part = append(part, e.Selection())
		}
		must.Same(t, part, a[from:min(from+5, len(a))], what, "the slice from", from)
	}
}
