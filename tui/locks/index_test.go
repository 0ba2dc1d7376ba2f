package locks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		if !slices.Equal(got, want) || s.count != len(want) {
			t.Fatalf("%d of %d", len(got), len(want))
		}
		for _, p := range s.pages {
			if len(p) == 0 || len(p) >= 2*pageSize {
				t.Fatalf("a page of %d", len(p))
			}
		}
	}
	for step := range 20_000 {
		n := r.IntN(5000)
		at, found := slices.BinarySearch(want, n)
		if r.IntN(100) < 20+60*(step/10_000) {
			if s.remove(n) != found {
				t.Fatalf("take %d", n)
			}
			if found {
				want = slices.Delete(want, at, at+1)
			}
		} else {
			s.insert(n)
			if !found {
				want = slices.Insert(want, at, n)
			}
			if s.place(n) != at {
				t.Fatalf("%d is at %d, not %d", n, s.place(n), at)
			}
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
			if at := x.Line(opened, e.Selection()); at != i {
				t.Fatalf("%s: %v is at %d, not %d", what, e.Selection(), at, i)
			}
			things = append(things, e.Selection())
		}
		return things
	}
	a, b := list(got), list(want)
	if !slices.Equal(a, b) || got.Lines(opened) != len(a) || got.Shown != want.Shown ||
		got.Contended != want.Contended || got.Findings != want.Findings || len(got.Rows) != len(want.Rows) {
		t.Fatalf("%s differs: %s", what, cmp.Diff(fmt.Sprint(b), fmt.Sprint(a)))
	}
	for from := range len(a) {
		part := got.Slice(opened, from, 5)
		want := a[from:min(from+5, len(a))]
		if !slices.EqualFunc(part, want, func(e tableLine, s Selection) bool { return e.Selection() == s }) {
			t.Fatalf("%s: slice from %d is %v", what, from, part)
		}
	}
}
