package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

// someone parses a contender's owner: "s1" is a session, "L=x" a label, "P=web-1:7" host and
// process, "I=x" a library's id, "@10.0.0.1:5" the client's address.
func someone(words string) Owner {
	var o Owner
	for _, w := range strings.Fields(words) {
		switch key, value, _ := strings.Cut(w, "="); {
		case w[0] == 's':
			o.Session = int64(w[1])
		case w[0] == '@':
			o.Client = w[1:]
		case key == "L":
			o.Label = Untrusted(value)
		case key == "I":
			o.LibraryID, o.Thread = Untrusted(value), "1"
		case key == "P":
			host, pid, _ := strings.Cut(value, ":")
			o.Host, o.PID = Untrusted(host), Untrusted(pid)
		}
	}
	return o
}

// between returns two locks, one in ZooKeeper and one in Redis, each as HOLDER | WAITER.
func between(zk, redis string) []*Lock {
	make := func(id ID, masters []Vote, words string) *Lock {
		holder, waiter, _ := strings.Cut(words, "|")
		return &Lock{
			ID: id, Kind: KindMutex, Masters: masters,
			Holders: []Contender{{Name: Untrusted(id.Path + "-0"), State: Holding, Owner: someone(holder)}},
			Waiters: []Contender{{Name: Untrusted(id.Path + "-1"), State: Waiting, Owner: someone(waiter)}},
		}
	}
	return []*Lock{make(ID{"redis", "r"}, []Vote{{Addr: "r:1"}, {Addr: "r:2"}}, redis), make(ID{"zk", "/z"}, nil, zk)}
}

// A cycle over both backends needs a session and a client of the same program.
func TestCyclesOverBothBackends(t *testing.T) {
	for _, s := range sections(t, "testdata/ties.txt")[1:] {
		name, facts := s.title, map[string]string{}
		for line := range strings.Lines(s.text) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			facts[key] = value
		}
		locks := between(facts["zk"], facts["redis"])
		if who, known := facts["idle"]; known {
			x := Contender{Name: "x", State: Holding, Owner: someone(who)}
			locks = append(locks, &Lock{ID: ID{"zk", "/idle"}, Holders: []Contender{x}})
		}
		cycles := findCycles(slices.Values(locks))
		ties := each.Of(cycles, func(c Cycle) string { return c.TiedBy() })
		must.Equal(t, strings.Join(ties, "; "), facts["tied:"], name)
		for _, c := range cycles {
			doubted := strings.Contains(facts["tied:"], "possible")
			must.Equal(t, c.Certainty() == recipe.Possible, doubted, name, "is possible")
			for i, id := range c.Locks {
				on := locks[slices.IndexFunc(locks, func(l *Lock) bool { return l.ID == id })]
				must.True(t, c.Wants(on, i) != nil, name, "lacks the wait for", id)
			}
			must.True(t, c.Cheapest.Owner >= 0, name, "has no cheapest hold")
		}
	}
}

// A cycle over both backends does not affect cycles within one.
func TestTiesAddNothingWithinABackend(t *testing.T) {
	locks := between("s1 L=web-1:7 | s2 L=web-2:8", "L=web-2:8 | L=web-1:7")
	locks = append(locks, chain("1", "a", "b"), chain("2", "b", "a"))
	var got []string
	for _, c := range findCycles(slices.Values(locks)) {
		got = append(got, fmt.Sprint(c.Locks, len(c.Ties)))
	}
	must.Equal(t, strings.Join(got, "; "), "[redis:r zk:/z] 2; [zk:/1 zk:/2] 0", "cycles")
}

// The preview of a release knows what its owner likely waits for on the other backend, and that the
// release ends the deadlock.
func TestReleasePreviewSpansBothBackends(t *testing.T) {
	for label, holds := range map[string]string{"web-1:7": "[redis:r]", "cart": "[]"} {
		locks := between("s1 L="+label+" | s2 L=web-2:8", "L=web-2:8 | L="+label)
		s := NewSnapshot(now, nil, locks)
		_, waits, known := s.Elsewhere(locks[1].ID, &locks[1].Holders[0])
		must.True(t, known && fmt.Sprint(waits) == holds, label, "waits elsewhere for", waits, known)
		is, then := s.DeadlockWithout(locks[1].ID, &locks[1].Holders[0])
		must.True(t, is && !then, label, "deadlock", is, "without the holder", then)
	}
}
