package finding

import (
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// target returns a backend with one server per letter of states, named a, b, c and so on.
func target(kind inspect.BackendKind, states string) *inspect.Backend {
	b := &inspect.Backend{Name: "x", Kind: kind}
	for i, state := range states {
		s := inspect.Server{Addr: string(rune('a' + i)), State: inspect.ServerDown}
		switch state {
		case '+':
			s.State = inspect.ServerUp
		case '?':
			s.State = inspect.ServerUnknown
		case 'w':
			s.State, s.WritesRefused = inspect.ServerUp, inspect.RefusedForMemory
		case 'R':
			s.State, s.Role = inspect.ServerUp, "replica"
		case 'r':
			s.State, s.Role = inspect.ServerUp, "read-only"
		case 'o':
			s.Fault = inspect.FaultOurs
		case 'q':
			s.Fault = inspect.FaultNoQuorum
		case 'L':
			s.Error = "master a: LOADING Redis is loading the dataset in memory"
		}
		b.Servers = append(b.Servers, s)
	}
	return b
}

// Too few usable masters are critical, and just enough a warning. A master that others may reach
// counts as usable.
func TestMastersWithoutAQuorum(t *testing.T) {
	t.Parallel()
	const likely, certain = recipe.Likely, recipe.Certain
	of := func(b *inspect.Backend) inspect.Case { return inspect.Case{Backend: b, Now: now} }
	masters := func(states string) inspect.Case { return of(target(inspect.Redis, states)) }
	fires := func(states string, severity inspect.Severity, sure recipe.Confidence, has string, e map[string]any) state {
		return state{
			name: states, c: masters(states), fires: true,
			severity: severity, confidence: sure, has: []string{has}, evidence: e,
		}
	}
	silent := func(states string) state { return state{name: states, c: masters(states)} }
	named := func(topology inspect.Topology) state {
		b := target(inspect.Redis, "+--")
		b.Topology = topology
		return state{name: string(topology), c: of(b)}
	}
	apart := target(inspect.Redis, "+--")
	apart.Spread = inspect.Spread{Masters: 3, Locks: 9, OnOne: 9, Used: 2}
	check(t, "no-quorum", []state{
		fires("++-", inspect.Warning, likely,
			"1 of 3 masters lost (c: no answer): if one more fails, no lock can be taken or renewed",
			map[string]any{"members": 3, "usable": 2, "quorum": 2, "unseen": nil}),
		fires("+--", inspect.Critical, likely,
			"2 of 3 masters lost (b: no answer, and 1 more), a quorum is 2: no lock can be taken or renewed",
			map[string]any{"usable": 1, "servers": []evidence{{"addr": "b", "says": noAnswer}, {"addr": "c", "says": noAnswer}}}),
		fires("+ww", inspect.Critical, certain, "b: refuses writes", nil),
		fires("+-w", inspect.Critical, likely, "b: no answer", nil),
		fires("LLL", inspect.Critical, certain, "a: answers only LOADING", nil),
		fires("+-", inspect.Critical, likely, "1 of 2 masters lost", nil),
		fires("++--o", inspect.Warning, likely, "2 of 5 masters lost", map[string]any{"usable": 3, "unseen": []string{"e"}}),
		fires("+++-", inspect.Warning, likely, "1 of 4 masters lost", nil),
		silent("+++"), silent("++++-"), silent("+"), silent("-"), silent("w"),
		silent("---"), silent("+R"), silent("+oo"), silent("+??"), silent("ooo"),
		{name: "no master of one lock", c: of(apart)},
		named(inspect.Sentinel), named(inspect.Cluster),
	})
}

// An ensemble has no quorum once its servers have said so for longer than an election takes.
func TestAnEnsembleWithoutAQuorum(t *testing.T) {
	t.Parallel()
	ensemble := func(states string, voters int, heard time.Duration) inspect.Case {
		b := target(inspect.ZooKeeper, states)
		if b.Voters = voters; heard > 0 {
			b.HeardAt = now.Add(-heard)
		}
		return inspect.Case{Backend: b, Now: now}
	}
	critical := func(name string, c inspect.Case, sure recipe.Confidence, has string) state {
		return state{
			name: name, c: c, fires: true, severity: inspect.Critical, confidence: sure,
			has: []string{has}, advice: "bring one of them back, and do not stop another",
		}
	}
	warning := func(name string, c inspect.Case, has string) state {
		return state{
			name: name, c: c, fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{has}, advice: "before any other is stopped",
		}
	}
	check(t, "no-quorum", []state{
		critical("one left", ensemble("-q-", 0, 0), recipe.Likely,
			"3 of 3 servers lost (a: no answer, and 2 more), a quorum is 2: no lock can be taken or released"),
		critical("for a while", ensemble("-q-", 3, election), recipe.Likely, "3 of 3"),
		critical("one serves reads", ensemble("r--", 3, 0), recipe.Likely, "a: serves reads only"),
		critical("all report it", ensemble("qqq", 0, 0), recipe.Certain, "a: no quorum"),
		critical("the target names three of five", ensemble("--q", 5, 0), recipe.Likely, "3 of 5 servers lost"),
		warning("one of three", ensemble("++-", 3, 0),
			"1 of 3 servers lost (c: no answer): if one more fails, no lock can be taken or released"),
		warning("two of five, three of them named", ensemble("+--", 5, 0), "2 of 5 servers lost"),
		{name: "during an election", c: ensemble("-q-", 3, election-time.Second)},
		{name: "one of three, of an unknown number", c: ensemble("++-", 0, 0)},
		{name: "one of five", c: ensemble("++++-", 5, 0)},
		{name: "all serve", c: ensemble("+++", 3, 0)},
		{name: "no server answers", c: ensemble("---", 3, 0)},
		{name: "one that may be cut off from the others", c: ensemble("q", 3, 0)},
		{name: "one alone", c: ensemble("q", 0, 0)},
		{name: "the others refuse our connections", c: ensemble("qoo", 3, 0)},
	})
}

// If a second master dies, the warning becomes critical under the same key.
func TestALostQuorumIsOneFinding(t *testing.T) {
	t.Parallel()
	var keys []string
	for _, states := range []string{"++-", "+--"} {
		for _, f := range diagnose(t, "no-quorum", inspect.Case{Backend: target(inspect.Redis, states), Now: now}) {
			keys = append(keys, f.Key())
		}
	}
	if len(keys) != 2 || len(slices.Compact(keys)) != 1 {
		t.Errorf("keys %q", keys)
	}
}
