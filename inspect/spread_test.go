package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
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
		must.Equal(t, p.counted().Suspect(), tt.suspect, tt.votes)
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
		"no client":           {nil, recipe.Possible},
		"all watch all":       {map[string][]int64{"11": {12, 13}, "12": {11, 13}, "13": {11, 12}}, recipe.Possible},
		"others watch them":   {map[string][]int64{"11": {77}, "12": {77}}, recipe.Possible},
		"itself":              {map[string][]int64{"12": {12}}, recipe.Possible},
		"one that is gone":    {map[string][]int64{"10": {12}}, recipe.Likely},
		"one that is gone behind it, as a registry's members watch": {map[string][]int64{"14": {12}}, recipe.Possible},
		"a stranger watches one that is gone":                       {map[string][]int64{"10": {77}}, recipe.Possible},
		"the one before, and one that is gone behind it":            {map[string][]int64{"11": {12}, "14": {13}}, recipe.Possible},
		"its session is unknown":                                    {map[string][]int64{"11": {0}}, recipe.Possible},
	} {
		l := lockOf(t, "n-#11/11 n-#12/12 n-#13/13")
		table := &WatchTable{Backend: "zk", Sessions: map[string][]int64{}, ReadAt: l.ReadAt.Add(WatchSettle)}
		for number, sessions := range tt.watches {
			table.Sessions["/l/n-00000000"+number] = sessions
		}
		confirmWatches(l, table)
		must.Equal(t, l.Confidence, tt.want, name)
	}
}
