package tui

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockscope/inspect"
)

// What is updated bit by bit must be what a new look at everything gives.
func TestFindingIndexUpdatesAsItResets(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	all := make(map[inspect.ID]*inspect.Lock)
	x := newFindingIndex()
	plain := newFindingIndex()
	x.settleSearch(x.startSearch(newWords("w-")))
	rules := []string{"a", "b", "blind", "deadlock"}
	for step := range 600 {
		on := id(fmt.Sprintf("zk:/l%d", random.IntN(12)))
		var list []inspect.Finding
		for range random.IntN(4) {
			rule := rules[random.IntN(3)]
			list = append(list, trouble(rule, []inspect.Severity{inspect.Info, inspect.Critical}[random.IntN(2)], fmt.Sprintf("%c-%d", 'v'+rune(random.IntN(2)), random.IntN(2))))
		}
		if step%200 > 100 && random.IntN(3) == 0 { // without any, changes are taken in one by one
			f := deadlocked("zk:/l1", "zk:/l2")
			f.Message = "w-"
			list = append(list, f)
		}
		all[on] = sick(on.String(), list...)
		if random.IntN(9) == 0 {
			delete(all, on)
		}
		var locks []*inspect.Lock
		for _, l := range all {
			locks = append(locks, l)
		}
		s := inspect.NewSnapshot(noon, nil, locks)
		x.update(s, snapshotShownMsg{changed: []inspect.ID{on}})
		fresh := newFindingIndex()
		fresh.settleSearch(fresh.startSearch(newWords("w-")))
		fresh.update(s, snapshotShownMsg{all: true})
		if diff := cmp.Diff(rowsOf(fresh), rowsOf(x)); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
		whole := newFindingIndex()
		whole.update(s, snapshotShownMsg{all: true})
		plain.update(s, snapshotShownMsg{changed: []inspect.ID{on}})
		if diff := cmp.Diff(rowsOf(whole), rowsOf(plain)); diff != "" {
			t.Fatalf("step %d, without a filter: %s", step, diff)
		}
		for at := range x.rows() {
			if g, f := x.row(at); x.at(g, f) != at {
				t.Fatalf("step %d: row %d is found at %d", step, at, x.at(g, f))
			}
		}
	}
}

func TestFindingKeysDiffer(t *testing.T) {
	list := []inspect.Finding{trouble("a", inspect.Info, ""), trouble("a", inspect.Info, ""), trouble("a", inspect.Info, "c"), trouble("b", inspect.Info, "c")}
	var keys []string
	for i := range list {
		keys = append(keys, findingKey(list[:i+1]))
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 4 {
		t.Errorf("%q", keys)
	}
}

// A search may go on while findings come, go and change, and finds what one without all that would have.
func TestFindingSearchWhileTheyChange(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	x, words := newFindingIndex(), []filter{newWords("w-"), newWords("!w-"), newWords("l7"), {}}
	all := make(map[inspect.ID]*inspect.Lock)
	snapshot := func() *inspect.Snapshot { return inspect.NewSnapshot(noon, nil, slices.Collect(maps.Values(all))) }
	for step := range 200 {
		search := x.startSearch(words[step%len(words)])
		done := make(chan struct{})
		go func() {
			defer close(done)
			search.run(context.Background())
		}()
		for range 5 {
			on := id(fmt.Sprintf("zk:/l%d", random.IntN(12)))
			var list []inspect.Finding
			for range random.IntN(3) {
				list = append(list, trouble([]string{"a", "b"}[random.IntN(2)], inspect.Info, fmt.Sprintf("%c-", 'v'+rune(random.IntN(2)))))
			}
			all[on] = sick(on.String(), list...)
			x.update(snapshot(), snapshotShownMsg{changed: []inspect.ID{on}})
		}
		<-done
		x.settleSearch(search)
		fresh := newFindingIndex()
		fresh.settleSearch(fresh.startSearch(search.words))
		fresh.update(snapshot(), snapshotShownMsg{all: true})
		if diff := cmp.Diff(rowsOf(fresh), rowsOf(x)); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
	}
}

// A snapshot that holds all that happened for a while, as after a pause or in a moment of a recording, tells when.
func TestFindingsStandSinceTheirEvent(t *testing.T) {
	l := sick("zk:/a", stuck())
	s := inspect.NewSnapshot(noon, backends(), []*inspect.Lock{l})
	s.Events = []inspect.Event{{Kind: inspect.EventFinding, At: noon.Add(-90 * time.Second), Lock: l.ID, Finding: &l.Findings[0]}}
	x := newFindingIndex()
	x.update(s, snapshotShownMsg{all: true})
	if f := x.byPlace[l.ID][0]; !f.since.Equal(noon.Add(-90 * time.Second)) {
		t.Errorf("it stands since %v", f.since)
	}
}

// rowsOf are all findings that an index shows, with how many each group counts.
func rowsOf(x *findingIndex) []string {
	var rows []string
	for _, g := range x.groups {
		if g.count > 0 {
			rows = append(rows, fmt.Sprintf("%s %s %d", g.severity, g.rule, g.count))
		}
		if len(g.shown) > 0 {
			rows = append(rows, onHowMany(g), g.oldest().since.String())
		}
		for _, f := range g.shown {
			rows = append(rows, fmt.Sprintf("%s %q %s", f.place(), f.key, f.Message))
		}
	}
	return rows
}
