package findings

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// Incremental updates must give the same result as a full rebuild.
func TestFindingIndexUpdatesMatchRebuild(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	all := make(map[inspect.ID]*inspect.Lock)
	x := NewFindingIndex(undated)
	plain := NewFindingIndex(undated)
	x.SettleSearch(x.StartSearch(screen.NewWords("w-")))
	rules := []string{"a", "b", "blind", "deadlock"}
	for step := range 600 {
		on := fixture.Id(fmt.Sprintf("zk:/l%d", random.IntN(12)))
		var list []inspect.Finding
		for range random.IntN(4) {
			rule := rules[random.IntN(3)]
			list = append(list, fixture.Trouble(rule, []inspect.Severity{inspect.Info, inspect.Critical}[random.IntN(2)], fmt.Sprintf("%c-%d", 'v'+rune(random.IntN(2)), random.IntN(2))))
		}
		if step%200 > 100 && random.IntN(3) == 0 { // without deadlocks, changes are applied one by one
			f := fixture.Deadlocked("zk:/l1", "zk:/l2")
			f.Message = "w-"
			list = append(list, f)
		}
		all[on] = fixture.Sick(on.String(), list...)
		if random.IntN(9) == 0 {
			delete(all, on)
		}
		var locks []*inspect.Lock
		for _, l := range all {
			locks = append(locks, l)
		}
		s := inspect.NewSnapshot(fixture.Noon, nil, locks)
		x.Update(s, screen.SnapshotMsg{Changed: []inspect.ID{on}}, false)
		fresh := NewFindingIndex(undated)
		fresh.SettleSearch(fresh.StartSearch(screen.NewWords("w-")))
		fresh.Update(s, screen.SnapshotMsg{All: true}, false)
		if diff := cmp.Diff(rowsOf(fresh), rowsOf(x)); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
		whole := NewFindingIndex(undated)
		whole.Update(s, screen.SnapshotMsg{All: true}, false)
		plain.Update(s, screen.SnapshotMsg{Changed: []inspect.ID{on}}, false)
		if diff := cmp.Diff(rowsOf(whole), rowsOf(plain)); diff != "" {
			t.Fatalf("step %d, without a filter: %s", step, diff)
		}
		for at := range x.Rows() {
			if g, f := x.Row(at); x.at(g, f) != at {
				t.Fatalf("step %d: row %d is found at %d", step, at, x.at(g, f))
			}
		}
	}
}

func TestGroupCountsLocksAndBackends(t *testing.T) {
	a, b, backend := fixture.Id("zk:/a"), fixture.Id("zk:/b"), inspect.ID{Backend: "zk"}
	g := &foundGroup{Shown: []*found{{on: a}, {on: a}, {on: b}, {on: backend}}}
	must.Equal(t, onHowMany(g), "4 on 2 locks and 1 backend")
}

func TestFindingKeysDiffer(t *testing.T) {
	list := []inspect.Finding{fixture.Trouble("a", inspect.Info, ""), fixture.Trouble("a", inspect.Info, ""), fixture.Trouble("a", inspect.Info, "c"), fixture.Trouble("b", inspect.Info, "c")}
	var keys []string
	for i := range list {
		keys = append(keys, findingKey(list[:i+1]))
	}
	slices.Sort(keys)
	must.Equal(t, len(slices.Compact(keys)), 4, keys)
}

// A search may run while findings appear, clear and change. Its result is the same as without
// these changes.
func TestFindingSearchWhileTheyChange(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	x, words := NewFindingIndex(undated), []screen.Filter{screen.NewWords("w-"), screen.NewWords("!w-"), screen.NewWords("l7"), {}}
	all := make(map[inspect.ID]*inspect.Lock)
	snapshot := func() *inspect.Snapshot {
		return inspect.NewSnapshot(fixture.Noon, nil, slices.Collect(maps.Values(all)))
	}
	for step := range 200 {
		search := x.StartSearch(words[step%len(words)])
		done := make(chan struct{})
		go func() {
			defer close(done)
			search.Run(context.Background())
		}()
		for range 5 {
			on := fixture.Id(fmt.Sprintf("zk:/l%d", random.IntN(12)))
			var list []inspect.Finding
			for range random.IntN(3) {
				list = append(list, fixture.Trouble([]string{"a", "b"}[random.IntN(2)], inspect.Info, fmt.Sprintf("%c-", 'v'+rune(random.IntN(2)))))
			}
			all[on] = fixture.Sick(on.String(), list...)
			x.Update(snapshot(), screen.SnapshotMsg{Changed: []inspect.ID{on}}, false)
		}
		<-done
		x.SettleSearch(search)
		fresh := NewFindingIndex(undated)
		fresh.SettleSearch(fresh.StartSearch(search.words))
		fresh.Update(snapshot(), screen.SnapshotMsg{All: true}, false)
		if diff := cmp.Diff(rowsOf(fresh), rowsOf(x)); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
	}
}

// undated has no time for any finding.
func undated(inspect.ID, *inspect.Finding) (time.Time, bool) { return time.Time{}, false }

// rowsOf returns all findings that an index shows, with the count of each group.
func rowsOf(x *findingIndex) []string {
	var rows []string
	for _, g := range x.groups {
		if g.count > 0 {
			rows = append(rows, fmt.Sprintf("%s %s %d", g.severity, g.Rule, g.count))
		}
		if len(g.Shown) > 0 {
			rows = append(rows, onHowMany(g), g.oldest().since.String())
		}
		for _, f := range g.Shown {
			rows = append(rows, fmt.Sprintf("%s %q %s", f.Place(), f.key, f.Message))
		}
	}
	return rows
}
