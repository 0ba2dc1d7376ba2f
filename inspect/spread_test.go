package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// suspecting returns a rule about a suspect target, and one about leftovers on a target that is not
// suspect.
func suspecting(asOf func(*Case) time.Time) []Rule {
	return []Rule{{Name: "suspect", Backend: func(b *Backend, _ time.Time) []Finding {
		if b.Spread.Suspect() {
			return []Finding{{Rule: "suspect", Severity: Warning}}
		}
		return nil
	}}, {Name: "leftover", AsOf: asOf, Lock: func(c *Case) []Finding {
		if c.Lock.State == StateMinority && !c.Spread.Suspect() {
			return []Finding{{Rule: "leftover", Severity: Warning}}
		}
		return nil
	}}}
}

// found lists the rules with findings about the locks, with their names, and about the backend
// redis.
func (a *applied) found() string {
	var rules []string
	for l := range a.locks.all() {
		for _, f := range l.Findings {
			rules = append(rules, l.ID.Path+" "+f.Rule)
		}
	}
	for _, f := range a.byName["redis"].shown.Findings {
		rules = append(rules, f.Rule)
	}
	return strings.Join(rules, ", ")
}

// keyAt returns a lock with these votes, read at a second.
func keyAt(name, votes string, second float64) *Lock {
	return KeyLock(ID{"redis", name}, ballots(votes), secondsOn(second))
}

// A backend whose locks are each on one master is suspect after the first pass and a second's wait,
// and only while that lasts.
func TestSpreadFollowsLockChanges(t *testing.T) {
	a := applying(t)
	a.Diagnose(suspecting(nil), 0)
	up := &Backend{Name: "redis", Kind: Redis, State: Connected, Mode: ModePush}
	whole := *up
	whole.FirstPass = true
	a.send(0, Update{Backend: up, Put: []*Lock{keyAt("a", "x - -", 0), keyAt("b", "- y -", 0)}})
	expect(t, "during the first pass", a.found(), "a leftover, b leftover")
	a.send(1, Update{Backend: &whole})
	expect(t, "after the first pass", a.found(), "suspect")
	a.send(2, Update{Put: []*Lock{keyAt("c", "z z -", 2)}})
	expect(t, "with one on two masters", a.found(), "a leftover, b leftover")
	a.send(3, Update{Gone: []ID{{"redis", "c"}}})
	expect(t, "right after it is gone", a.found(), "a leftover, b leftover")
	a.pass(3.1, 4.2)
	expect(t, "a second later", a.found(), "suspect")
	a.send(5, Update{Put: []*Lock{keyAt("a", "- - -", 5)}})
	expect(t, "with one left", a.found(), "b leftover")
}

// A target stays suspect while few of its locks are on several masters. With many locks, the
// verdict does not wait for the first pass.
func TestSuspectTargetStaysSuspect(t *testing.T) {
	a := applying(t)
	a.Diagnose(suspecting(nil), 0)
	var locks []*Lock
	for i := range 2 * suspectLocks {
		locks = append(locks, keyAt(fmt.Sprint(i), []string{"x - -", "- y -"}[i%2], 0))
	}
	a.send(0, Update{Backend: &Backend{Name: "redis", Kind: Redis, State: Connected, Mode: ModePush}, Put: locks})
	a.pass(0.1, 1.2)
	expect(t, "during the first pass", a.found(), "suspect")
	for i, name := range []string{"p", "q", "r"} {
		a.send(2+i, Update{Put: []*Lock{keyAt(name, "z z -", float64(2+i))}})
		expect(t, "with "+name, a.found(), "suspect")
	}
	a.send(5, Update{Put: []*Lock{keyAt("s", "z z -", 5)}})
	if strings.Contains(a.found(), "suspect") {
		t.Error("suspect with 10 of 14 locks on one master")
	}
}

// A leftover is still reported while another lock is on one master for a moment, during its
// acquisition. When the target is no longer suspect, the leftover is reported again at once, since
// its votes are not read again.
func TestALeftoverOutlastsASuspectTarget(t *testing.T) {
	a := applying(t)
	a.Diagnose(suspecting(func(c *Case) time.Time { return c.Lock.ReadAt }), 0)
	see := func(at float64, name, votes string) {
		a.clock.at = secondsOn(at)
		a.apply(sourceUpdate{0, Update{Put: []*Lock{keyAt(name, votes, at)}}})
	}
	whole := &Backend{Name: "redis", Kind: Redis, State: Connected, Mode: ModePush, FirstPass: true}
	a.send(0, Update{Backend: whole, Put: []*Lock{keyAt("flow", "z z z", 0), keyAt("left", "x - -", 0)}})
	see(1.1, "left", "x - -")
	expect(t, "read twice", a.found(), "left leftover")
	see(5, "flow", "- y -")
	expect(t, "while another is acquired", a.found(), "left leftover")
	see(5.1, "flow", "y y y")
	a.pass(5.2, 8)
	expect(t, "later", a.found(), "left leftover")
	see(8, "flow", "- w -")
	a.pass(8.1, 10)
	expect(t, "while both locks are on one master", a.found(), "suspect")
	see(10, "flow", "w w w")
	expect(t, "afterwards", a.found(), "left leftover")
}

// Nine of ten locks on one server each are not leftovers of failed attempts, but one among healthy
// locks is.
func TestMostlySingleServerLocksAreSuspect(t *testing.T) {
	for _, tt := range []struct {
		votes   map[string]int // number of locks with these votes
		suspect bool
	}{
		{map[string]int{"x - -": 5, "- y -": 4, "z z -": 1}, true},
		{map[string]int{"x - -": 5, "- y -": 4, "z z -": 2}, false},
		{map[string]int{"x - -": 1, "z z z": 9}, false},
		{map[string]int{"x - -": 1, "- y -": 1}, true},
		{map[string]int{"x - -": 2, "- y -": 1}, true},
		{map[string]int{"x - -": 1, "- y -": 1, "z z z": 1}, false},
		{map[string]int{"x - -": 1, "z z z": 1}, false},
		{map[string]int{"x - -": 1}, false},
		{map[string]int{"x - -": 3}, false}, // one client that fails repeatedly
		{map[string]int{"x - -": 9, "z z z": 1}, true},
	} {
		var s spread
		for votes, n := range tt.votes {
			for i := range n {
				s.count(KeyLock(ID{"redis", fmt.Sprint(votes, i)}, ballots(votes), now), 1)
			}
		}
		p := backendState{spread: s, firstPassDone: true}
		if got := p.counted(); got.Suspect() != tt.suspect {
			t.Errorf("%v: %+v", tt.votes, got)
		}
	}
}

// Ephemeral sequential nodes are likely a queue if their owners watch the nodes before them.
// Members of a registry watch no nodes or all of them.
func TestWatchesDistinguishQueueFromRegistry(t *testing.T) {
	for name, tt := range map[string]struct {
		watches map[string][]int64 // node number to watching sessions
		want    recipe.Confidence
	}{
		"each the one before": {map[string][]int64{"11": {12}, "12": {13}}, recipe.Likely},
		"one of them":         {map[string][]int64{"12": {13}}, recipe.Likely},
		"nobody":              {nil, recipe.Possible},
		"all watch all":       {map[string][]int64{"11": {12, 13}, "12": {11, 13}, "13": {11, 12}}, recipe.Possible},
		"others watch them":   {map[string][]int64{"11": {77}, "12": {77}}, recipe.Possible},
		"itself":              {map[string][]int64{"12": {12}}, recipe.Possible},
		"one that is gone":    {map[string][]int64{"10": {12}}, recipe.Likely},
		"one that is gone behind it, as a registry's members watch": {map[string][]int64{"14": {12}}, recipe.Possible},
		"a stranger watches one that is gone":                       {map[string][]int64{"10": {77}}, recipe.Possible},
	} {
		var nodes []Znode
		for _, session := range []int64{11, 12, 13} {
			nodes = append(nodes, node("n-00000000"+string([]byte{byte('0' + session/10), byte('0' + session%10)}), session))
		}
		l := lockOf(t, nodes...)
		table := &WatchTable{Backend: "zk", Sessions: map[string][]int64{}, ReadAt: l.ReadAt.Add(WatchSettle)}
		for number, sessions := range tt.watches {
			table.Sessions["/l/n-00000000"+number] = sessions
		}
		if confirmWatches(l, table); l.Confidence != tt.want {
			t.Errorf("%s: %s, want %s", name, l.Confidence, tt.want)
		}
	}
}
