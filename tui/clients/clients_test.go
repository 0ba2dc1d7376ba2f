package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// A client with two entries in a queue blocks those behind it once.
func TestBlockedAreCountedOnce(t *testing.T) {
	s := fixture.ObservedOf(t, inspect.Update{Backend: fixture.Backends()[0], Put: []*inspect.Lock{fixture.QueueOf("/a", time.Minute, fixture.Ann, fixture.Ann, fixture.Bob, fixture.Cat), fixture.QueueOf("/b", time.Minute, fixture.Ann, fixture.Dan)}})
	r := ListClients(s).rows[0]
	if r.Name != "ann" || r.blocks != 3+1 {
		t.Errorf("%s blocks %d", r.Name, r.blocks)
	}
}

// A client's holds and waits are in the order of the locks.
func TestEntriesKeepTheirOrder(t *testing.T) {
	s := fixture.ObservedOf(t, inspect.Update{Backend: fixture.Backends()[0], Put: []*inspect.Lock{
		fixture.QueueOf("/b", time.Minute, fixture.Ann, fixture.Bob), fixture.QueueOf("/a", time.Minute, fixture.Bob, fixture.Ann),
	}})
	for _, r := range ListClients(s).rows {
		must.Equal(t, r.entries[0].Lock.ID.Path+r.entries[1].Lock.ID.Path, "/a/b", r.Name)
	}
}

// Lock names get the room of empty columns.
func TestEntryNamesGetRoomFirst(t *testing.T) {
	long := fixture.QueueOf("/"+strings.Repeat("r", 50), time.Minute, fixture.Ann)
	s := fixture.ObservedOf(t, inspect.Update{Backend: fixture.Backends()[0], Put: []*inspect.Lock{long}})
	p := &Screen{Context: snapshotOnly{s: s}}
	columns := p.entryColumns(ListClients(s).rows[0].entries, 80)
	must.Equal(t, widget.Lay(columns, 76)[1], len(long.ID.String()), "cells of the name")
}

// snapshotOnly is a screen's context with just a snapshot.
type snapshotOnly struct {
	screen.Context
	s *inspect.Snapshot
}

func (c snapshotOnly) Snapshot() *inspect.Snapshot { return c.s }
func (c snapshotOnly) Now() time.Time              { return fixture.Noon }
func (c snapshotOnly) Theme() *theme.Theme         { return theme.New(theme.Options{}) }

// A cycle that has just dissolved is not drawn.
func TestDissolvedCycleIsNotDrawn(t *testing.T) {
	s := fixture.BlockedClients(t)
	gone := inspect.Cycle{Locks: []inspect.ID{fixture.Id("zk:/x"), fixture.Id("zk:/y")}, Owners: []string{"a", "b"}}
	if _, ok := closeCycle(s, gone); ok {
		t.Error("a cycle of deleted locks")
	}
	gone.Locks = []inspect.ID{fixture.Id("zk:/dl/a"), fixture.Id("zk:/dl/b")}
	if _, ok := closeCycle(s, gone); ok {
		t.Error("a cycle of clients that have left")
	}
}

// sketch is a graph in words: its cycles, trees and blind spots.
func sketch(g *waitGraph) string {
	var parts []string
	for _, r := range g.cycles {
		var links []string
		for _, l := range r.links {
			links = append(links, fmt.Sprintf("%s has %s wants %s", describe.Owner(l.has.Contender), l.has.Lock.ID.Path, l.wants.Lock.ID.Path))
		}
		free := "nobody"
		if r.cheapest >= 0 {
			free = describe.Owner(r.links[r.cheapest].has.Contender)
		}
		parts = append(parts, fmt.Sprintf("ring: %s; free %s; %d behind", strings.Join(links, ", "), free, r.behind))
	}
	for _, x := range g.trees {
		var rows []string
		for _, r := range x.rows {
			rows = append(rows, strings.Repeat(">", r.depth)+r.lock.ID.Path)
		}
		parts = append(parts, fmt.Sprintf("tree: %s; %d wait", strings.Join(rows, " "), x.waiting))
	}
	for _, b := range g.blind {
		parts = append(parts, fmt.Sprintf("blind: %d of %d on %s", b.unknown, b.of, b.backend))
	}
	return strings.Join(parts, "\n")
}

func TestWaitGraph(t *testing.T) {
	m := time.Minute
	nobody := fixture.Person{Name: "?", Session: 0}
	election := fixture.QueueOf("/e", m, fixture.Ann, fixture.Cat)
	election.Kind = inspect.KindElection
	members := fixture.QueueOf("/members", m, fixture.Ann, fixture.Cat)
	members.Confidence = recipe.Possible
	for _, test := range []struct {
		name  string
		locks []*inspect.Lock
		want  string
	}{
		{"nothing", nil, ""},
		{"one queue", []*inspect.Lock{fixture.QueueOf("/a", m, fixture.Ann, fixture.Bob, fixture.Cat)}, ""},
		{
			"a ring of two: free the one that blocks fewest",
			[]*inspect.Lock{fixture.QueueOf("/a", 2*m, fixture.Ann, fixture.Bob, fixture.Cat), fixture.QueueOf("/b", m, fixture.Bob, fixture.Ann)},
			"ring: bob has /b wants /a, ann has /a wants /b; free bob; 1 behind",
		},
		{
			"a ring of two: on a tie, free the youngest",
			[]*inspect.Lock{fixture.QueueOf("/a", m, fixture.Ann, fixture.Bob), fixture.QueueOf("/b", 2*m, fixture.Bob, fixture.Ann)},
			"ring: bob has /b wants /a, ann has /a wants /b; free ann; 0 behind",
		},
		{
			"a ring of three",
			[]*inspect.Lock{fixture.QueueOf("/a", m, fixture.Ann, fixture.Bob), fixture.QueueOf("/b", m, fixture.Bob, fixture.Cat), fixture.QueueOf("/c", m, fixture.Cat, fixture.Ann)},
			"ring: bob has /b wants /a, ann has /a wants /c, cat has /c wants /b; free bob; 0 behind",
		},
		{
			"waiters behind a ring",
			[]*inspect.Lock{fixture.QueueOf("/a", m, fixture.Ann, fixture.Bob, fixture.Cat), fixture.QueueOf("/b", 2*m, fixture.Bob, fixture.Ann), fixture.QueueOf("/c", m, fixture.Cat, fixture.Dan, fixture.Eve)},
			"ring: bob has /b wants /a, ann has /a wants /b; free bob; 3 behind",
		},
		{
			"a chain over three locks",
			[]*inspect.Lock{fixture.QueueOf("/a", m, fixture.Ann, fixture.Bob), fixture.QueueOf("/b", m, fixture.Bob, fixture.Cat), fixture.QueueOf("/c", m, fixture.Cat, fixture.Dan, fixture.Eve)},
			"tree: /a >/b >>/c; 4 wait",
		},
		{
			"the tree with the most waiters is first",
			[]*inspect.Lock{fixture.QueueOf("/a", m, fixture.Ann, fixture.Bob), fixture.QueueOf("/b", m, fixture.Bob, fixture.Fay), fixture.QueueOf("/c", m, fixture.Cat, fixture.Dan), fixture.QueueOf("/d", m, fixture.Dan, fixture.Eve, nobody)},
			"tree: /c >/d; 3 wait\ntree: /a >/b; 2 wait\nblind: 1 of 9 on zk",
		},
		{"candidates of an election do not block", []*inspect.Lock{election, fixture.QueueOf("/b", m, fixture.Bob, fixture.Ann)}, ""},
		{"a possible lock blocks none", []*inspect.Lock{members, fixture.QueueOf("/b", m, fixture.Bob, fixture.Ann)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := fixture.ObservedOf(t, inspect.Update{Backend: fixture.Backends()[0], Put: test.locks})
			g := buildWaitGraph(s)
			must.NoDiff(t, cmp.Diff(test.want, sketch(g)))
			for _, x := range g.trees { // the holder of its first lock is the culprit of every lock
				for _, r := range x.rows {
					if e, ok := s.Culprit(r.lock); !ok || e.Lock != x.rows[0].lock {
						t.Errorf("culprit of %s is on %v", r.lock.ID, e.Lock.ID)
					}
				}
			}
		})
	}
}

func TestWhoBlocksMost(t *testing.T) {
	var got []string
	for _, r := range ListClients(fixture.BlockedClients(t)).rows {
		got = append(got, fmt.Sprintf("%s holds %d waits %d blocks %d ring %v", r.Name, r.holds, r.waits, r.blocks, r.inCycle))
	}
	want := []string{
		"bob holds 1 waits 1 blocks 2 ring true", "ann holds 1 waits 1 blocks 2 ring true",
		"dan holds 2 waits 0 blocks 2 ring false", // eve, and fay behind eve
		"eve holds 1 waits 1 blocks 1 ring false", "fay holds 0 waits 1 blocks 0 ring false", "cat holds 0 waits 1 blocks 0 ring false",
	}
	slices.Sort(want)
	slices.Sort(got)
	must.NoDiff(t, cmp.Diff(want, got))
}
