package finding

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// serverStates are the states of a server, by letter.
var serverStates = map[rune]inspect.Server{
	'+': {State: inspect.ServerUp},
	'-': {State: inspect.ServerDown},
	'?': {State: inspect.ServerUnknown},
	'w': {State: inspect.ServerUp, WritesRefused: inspect.RefusedForMemory},
	'R': {State: inspect.ServerUp, Role: "replica"},
	'r': {State: inspect.ServerUp, Role: "read-only"},
	'o': {State: inspect.ServerDown, Fault: inspect.FaultOurs},
	'q': {State: inspect.ServerDown, Fault: inspect.FaultNoQuorum},
	'L': {State: inspect.ServerDown, Error: "master a: LOADING Redis is loading the dataset in memory"},
}

// target returns a backend with one server per letter of states, named a, b, c and so on.
func target(kind inspect.BackendKind, states string) *inspect.Backend {
	b := &inspect.Backend{Name: "x", Kind: kind}
	for i, letter := range states {
		s := serverStates[letter]
		s.Addr = string(rune('a' + i))
		b.Servers = append(b.Servers, s)
	}
	return b
}

// Too few usable masters are critical, and just enough a warning. A master that others may reach
// counts as usable. Masters are + up, - down, w without writes, R a replica, o cut off from us, L
// loading, ? unknown.
func TestMastersWithoutAQuorum(t *testing.T) {
	t.Parallel()
	named := func(topology inspect.Topology) *inspect.Backend {
		b := target(inspect.Redis, "+--")
		b.Topology = topology
		return b
	}
	// Each lock is on one master.
	apart := target(inspect.Redis, "+--")
	apart.Spread = inspect.Spread{Masters: 3, Locks: 9, OnOne: 9, Used: 2}
	states := []state{
		silent("no master of one lock", apart),
		silent("Sentinels", named(inspect.Sentinel)),
		silent("a Cluster", named(inspect.Cluster)),
	}
	for _, letters := range []string{"++-", "+--", "+ww", "+-w", "LLL", "+-", "++--o", "+++-"} {
		states = append(states, fires(letters, target(inspect.Redis, letters)))
	}
	for _, letters := range []string{"+++", "++++-", "+", "-", "w", "---", "+R", "+oo", "+??", "ooo"} {
		states = append(states, silent(letters, target(inspect.Redis, letters)))
	}
	check(t, "no-quorum", states...)
}

// An ensemble has no quorum once its servers have said so for longer than an election takes.
func TestAnEnsembleWithoutAQuorum(t *testing.T) {
	t.Parallel()
	ensemble := func(states string, voters int, heard time.Duration) *inspect.Backend {
		b := target(inspect.ZooKeeper, states)
		if b.Voters = voters; heard > 0 {
			b.HeardAt = now.Add(-heard)
		}
		return b
	}
	check(t, "no-quorum",
		fires("one left", ensemble("-q-", 0, 0)),
		fires("for a while", ensemble("-q-", 3, election)),
		fires("one serves reads", ensemble("r--", 3, 0)),
		fires("all report it", ensemble("qqq", 0, 0)),
		fires("the target names three of five", ensemble("--q", 5, 0)),
		fires("one of three", ensemble("++-", 3, 0)),
		fires("two of five, three of them named", ensemble("+--", 5, 0)),
		silent("during an election", ensemble("-q-", 3, election-time.Second)),
		silent("one of three, of an unknown number", ensemble("++-", 0, 0)),
		silent("one of five", ensemble("++++-", 5, 0)),
		silent("all serve", ensemble("+++", 3, 0)),
		silent("no server answers", ensemble("---", 3, 0)),
		silent("one that may be cut off from the others", ensemble("q", 3, 0)),
		silent("one alone", ensemble("q", 0, 0)),
		silent("the others refuse our connections", ensemble("qoo", 3, 0)),
	)
}

// If a second master dies, the warning becomes critical under the same key.
func TestALostQuorumIsOneFinding(t *testing.T) {
	t.Parallel()
	one := diagnose(t, "no-quorum", target(inspect.Redis, "++-"))
	lost := diagnose(t, "no-quorum", target(inspect.Redis, "+--"))
	must.Same(t, []int{len(one), len(lost)}, []int{1, 1}, "findings")
	must.Equal(t, lost[0].Key(), one[0].Key(), "key")
}
