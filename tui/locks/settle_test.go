package locks

import (
	"fmt"
	"testing"

	"lockscope/inspect"
	"lockscope/tui/internal/fixture"
)

// Rows that changed stay where they are until they are settled, and the row that is pinned stays at its line for as long as it
// is, also when its lock goes and comes back.
func TestRowsStayUntilSettled(t *testing.T) {
	ids := func(x *Index) (paths []string) {
		for _, e := range x.Slice(nil, 0, 100) {
			paths = append(paths, e.Row.ID.Path)
		}
		return paths
	}
	locks := make(map[string]*inspect.Lock)
	for i, name := range []string{"a", "b", "c", "d"} {
		locks[name] = fixture.SomeLock(inspect.ID{Backend: "zk", Path: name}, i)
		locks[name].Holders, locks[name].Waiters, locks[name].Findings, locks[name].State = nil, nil, nil, inspect.StateFree
	}
	snapshot := func() *inspect.Snapshot {
		var list []*inspect.Lock
		for _, l := range locks {
			list = append(list, l)
		}
		return inspect.NewSnapshot(fixture.Noon, nil, list)
	}
	alarm := func(name string) {
		l := *locks[name]
		l.Findings = []inspect.Finding{{Rule: "deadlock", Severity: inspect.Critical}}
		locks[name] = &l
	}
	x := NewIndex(t.Context(), snapshot(), arrangement{Order: order{by: byWorst}}, fixture.Noon)
	expect := func(what string, want ...string) {
		t.Helper()
		if got := ids(x); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		for at, path := range want {
			id := inspect.ID{Backend: "zk", Path: path}
			if got := x.Line(nil, Selection{Lock: id}); got != at {
				t.Errorf("%s: %s is at line %d, not %d", what, path, got, at)
			}
			if part := x.Slice(nil, at, 1); len(part) != 1 || part[0].Row.ID != id {
				t.Errorf("%s: the slice from %d is %v", what, at, part)
			}
		}
		if n := x.Lines(nil); n != len(want) {
			t.Errorf("%s: %d lines", what, n)
		}
	}
	update := func(name string) { x.update(snapshot(), []inspect.ID{{Backend: "zk", Path: name}}, fixture.Noon) }
	expect("at first", "a", "b", "c", "d")
	alarm("d")
	update("d")
	expect("a critical one, unsettled", "a", "b", "c", "d")
	x.settle()
	expect("settled", "d", "a", "b", "c")
	alarm("c")
	update("c")
	x.settle()
	x.pin(inspect.ID{Backend: "zk", Path: "a"}, 1)
	expect("pinned", "c", "a", "d", "b")
	gone := locks["a"]
	delete(locks, "a")
	update("a")
	expect("pinned and gone", "c", "a", "d", "b")
	locks["a"] = gone
	update("a")
	expect("pinned and back", "c", "a", "d", "b")
	if x.Shown != 4 {
		t.Errorf("%d shown", x.Shown)
	}
	x.settle()
	expect("let go", "c", "d", "a", "b")
	x.pin(inspect.ID{Backend: "zk", Path: "b"}, 0)
	delete(locks, "b")
	update("b")
	expect("gone at the top", "b", "c", "d", "a")
	x.settle()
	expect("let go for good", "c", "d", "a")
}
