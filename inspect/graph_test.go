package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
)

// chain returns a lock with these contenders in queue order, the holder first. "a" is a session
// with that label, "?" one without a known client, "r:a" a reader. A leading ! makes it a Redis
// lock of that process.
func chain(name string, words ...string) *Lock {
	l := &Lock{ID: ID{"zk", "/" + name}, Kind: KindMutex}
	reading := true
	for i, w := range words {
		w, reader := strings.CutPrefix(w, "r:")
		who, redis := strings.CutPrefix(w, "!")
		c := Contender{Name: Untrusted(fmt.Sprint(name, i)), Sequential: !redis, State: Waiting}
		switch {
		case who == "?":
		case redis:
			c.Owner = Owner{Process: Process{LibraryID: "lib", Thread: Untrusted(who)}, Label: Untrusted(who)}
		default:
			c.Owner = Owner{Session: int64(who[0]), Label: Untrusted(who)}
		}
		if !reader {
			reading = reading && i == 0
		} else {
			c.Mode = recipe.Shared
		}
		if i == 0 || reading {
			c.State = Holding
			l.Holders = append(l.Holders, c)
			reading = reading && reader
		} else {
			l.Waiters = append(l.Waiters, c)
		}
	}
	return l
}

func TestFindCycles(t *testing.T) {
	election := func(l *Lock) *Lock { l.Kind = KindElection; return l }
	permits := func(l *Lock, n int) *Lock { l.Kind, l.Limit = KindSemaphore, n; return l }
	for name, tt := range map[string]struct {
		locks []*Lock
		want  string
	}{
		"nothing":                 {nil, ""},
		"a queue":                 {[]*Lock{chain("1", "a", "b", "c")}, ""},
		"two locks, no cycle":     {[]*Lock{chain("1", "a", "b"), chain("2", "b", "c")}, ""},
		"two":                     {[]*Lock{chain("1", "a", "b"), chain("2", "b", "a")}, "b@/1 a@/2"},
		"three":                   {[]*Lock{chain("1", "a", "b"), chain("2", "b", "c"), chain("3", "c", "a")}, "b@/1 a@/3 c@/2"},
		"waits for itself":        {[]*Lock{chain("1", "a", "a"), chain("2", "a", "b")}, ""},
		"behind others":           {[]*Lock{chain("1", "a", "x", "y", "b"), chain("2", "b", "z", "a")}, "b@/1 a@/2"},
		"behind one unknown":      {[]*Lock{chain("1", "?", "a", "?", "b"), chain("2", "b", "a")}, "12@/1 a@/2 b@/1"},
		"unknown holder":          {[]*Lock{chain("1", "?", "b"), chain("2", "b", "?")}, ""},
		"queue order alone":       {[]*Lock{chain("1", "x", "a", "b"), chain("2", "y", "b", "a")}, "b@/1 a@/2"},
		"two of a component":      {[]*Lock{chain("1", "a", "b"), chain("2", "b", "c"), chain("3", "c", "a"), chain("4", "c", "b")}, "b@/1 a@/3 c@/2; c@/2 b@/4"},
		"readers together":        {[]*Lock{chain("1", "r:a", "r:b", "w"), chain("2", "r:b", "r:a", "v")}, ""},
		"writer behind readers":   {[]*Lock{chain("1", "r:a", "r:x", "b"), chain("2", "b", "a")}, "b@/1 a@/2"},
		"elections":               {[]*Lock{election(chain("1", "a", "b")), election(chain("2", "b", "a"))}, ""},
		"several permits":         {[]*Lock{permits(chain("1", "a", "b"), 2), chain("2", "b", "a")}, ""},
		"one permit":              {[]*Lock{permits(chain("1", "a", "b"), 1), chain("2", "b", "a")}, "b@/1 a@/2"},
		"threads of a process":    {[]*Lock{chain("1", "!7", "!8"), chain("2", "!8", "!7")}, "8@/1 7@/2"},
		"several of the same two": {[]*Lock{chain("1", "a", "b"), chain("3", "b", "a"), chain("2", "b", "a"), chain("4", "a", "b")}, "b@/1 a@/2; b@/1 a@/3; a@/3 b@/4"},
		"two components":          {[]*Lock{chain("1", "a", "b"), chain("2", "b", "a"), chain("3", "c", "d"), chain("4", "d", "c")}, "b@/1 a@/2; d@/3 c@/4"},
	} {
		var got []string
		for _, c := range findCycles(slices.Values(tt.locks)) {
			var words []string
			for i := range c.Owners {
				words = append(words, c.Owners[i]+"@"+c.Locks[i].Path)
			}
			got = append(got, strings.Join(words, " "))
		}
		must.Equal(t, strings.Join(got, "; "), tt.want, name)
	}
}

// A cycle is found among many other owners, before, after or between them.
func TestFindCyclesAmongManyOwners(t *testing.T) {
	deadlock := []*Lock{chain("1", "a", "b"), chain("2", "b", "a")}
	var others []*Lock
	for i := range 1000 {
		l := chain(fmt.Sprint("other", i), "x", "y")
		l.Holders[0].Owner.Session, l.Waiters[0].Owner.Session = int64(1000+2*i), int64(1001+2*i)
		others = append(others, l)
	}
	for name, locks := range map[string][]*Lock{
		"before": append(slices.Clone(deadlock), others...),
		"behind": append(slices.Clone(others), deadlock...),
		"around": append(append([]*Lock{deadlock[0]}, others...), deadlock[1]),
	} {
		must.Equal(t, judged(findCycles(slices.Values(locks))), "/1 /2 likely", name)
	}
}

// Each owner of a cycle has the identity of its contender.
func TestCyclesIdentifyTheirOwners(t *testing.T) {
	one, two := chain("1", "a", "x", "b"), chain("2", "b", "a")
	cycles := findCycles(slices.Values([]*Lock{two, one}))
	must.Equal(t, len(cycles), 1, "cycles")
	var want []Identity
	for _, c := range []*Contender{&one.Waiters[1], &two.Waiters[0]} {
		who, known := c.Identity("zk")
		must.True(t, known, c.Owner.Label, "is unknown")
		want = append(want, who)
	}
	must.Same(t, cycles[0].Identities, want, "owners")
}

// The cheapest hold of a cycle has the fewest waiters; among equals, it is the youngest.
func TestTheCheapestHoldOfACycle(t *testing.T) {
	counted := func(l *Lock, since time.Time) *Lock {
		for i := range l.Holders {
			l.Holders[i].BlockedBelow, l.Holders[i].HeldSince = int32(len(l.Waiters)), since
		}
		return l
	}
	for name, tt := range map[string]struct {
		locks []*Lock
		want  string
	}{
		"fewest wait":     {[]*Lock{counted(chain("1", "a", "b", "x"), now), counted(chain("2", "b", "a"), now)}, "20 of /2 by b"},
		"the younger one": {[]*Lock{counted(chain("1", "a", "b"), now), counted(chain("2", "b", "a"), now.Add(-time.Hour))}, "10 of /1 by a"},
		"no owner holds":  {[]*Lock{chain("1", "x", "a", "b"), chain("2", "y", "b", "a")}, "none"},
	} {
		cycles := findCycles(slices.Values(tt.locks))
		must.Equal(t, len(cycles), 1, name)
		got := "none"
		if c := cycles[0]; c.Cheapest.Owner >= 0 {
			got = fmt.Sprintf("%s of %s by %s", c.Cheapest.Name, c.Cheapest.Lock.Path, c.Owners[c.Cheapest.Owner])
		}
		must.Equal(t, got, tt.want, name)
	}
}

// The label of an owner may have spaces, and goes without the address.
func TestCyclesLabelTheirOwners(t *testing.T) {
	locks := []*Lock{chain("1", "a", "b"), chain("2", "b", "a")}
	for _, l := range locks {
		for c := range l.Contenders {
			c.Owner.Label, c.Owner.Client = "job "+c.Owner.Label, "10.0.0.1:5"
		}
	}
	c := findCycles(slices.Values(locks))[0]
	must.Same(t, c.Labels, []string{"job b", "job a"}, "labels")
	must.Same(t, c.Owners, []string{"job b 10.0.0.1:5", "job a 10.0.0.1:5"}, "owners")
}

// A session id on another ensemble is another session, and a label alone is not an identity.
func TestIdentityIsNeverGuessed(t *testing.T) {
	one, two := chain("1", "a", "b"), chain("2", "b", "a")
	two.ID.Backend = "other"
	must.Equal(t, judged(findCycles(slices.Values([]*Lock{one, two}))), "", "sessions of two ensembles")
	labels := []*Lock{chain("1", "a", "b"), chain("2", "b", "a")}
	for _, l := range labels {
		for c := range l.Contenders {
			c.Owner.Session, c.Owner.Process = 0, Process{Host: "10.0.0.1"}
		}
	}
	must.Equal(t, judged(findCycles(slices.Values(labels))), "", "labels and hosts")
}

func TestCulpritAndOwnersOtherLocks(t *testing.T) {
	locks := []*Lock{chain("1", "a", "x"), chain("2", "b", "a", "y"), chain("3", "c", "b"), chain("4", "a")}
	s := NewSnapshot(now, nil, locks)
	must.Equal(t, culpritOf(s, "/1"), "/3 c")
	must.Equal(t, culpritOf(s, "/4"), "/3 c", "of a lock without waiters whose holder waits elsewhere")
	paths := each.Of(s.Of(locks[0], &locks[0].Holders[0]), func(e Entry) string { return e.Lock.ID.Path })
	must.Equal(t, strings.Join(paths, " "), "/1 /2 /4", "locks of a")
	dead := NewSnapshot(now, nil, []*Lock{chain("1", "a", "b"), chain("2", "b", "a")})
	must.Equal(t, culpritOf(dead, "/1"), "/2 b", "in a deadlock")
	_, ok := s.Culprit(&Lock{})
	must.True(t, !ok, "a free lock has a culprit")
}

// culpritOf formats the culprit of a lock as the path of its lock and its label.
func culpritOf(s *Snapshot, path string) string {
	e, ok := s.Culprit(s.Lock(ID{"zk", path}))
	if !ok {
		return "none"
	}
	return e.Lock.ID.Path + " " + e.Contender.Owner.Label.Raw()
}

// Labels tell the threads of a session apart. One thread's wait does not block another's hold.
func TestCulpritsAreThreads(t *testing.T) {
	locks := []*Lock{chain("1", "a", "x"), chain("2", "b", "y")}
	locks[1].Waiters[0].Owner.Session = locks[0].Holders[0].Owner.Session
	must.Equal(t, culpritOf(NewSnapshot(now, nil, locks), "/1"), "/1 a", "with a running holder")
	locks[1].Waiters[0].Owner.Label = locks[0].Holders[0].Owner.Label
	must.Equal(t, culpritOf(NewSnapshot(now, nil, locks), "/1"), "/2 b", "with a waiting holder")
}

// The observer finds a deadlock after a second, passes it to the rules, and notices its end. A lock
// that keeps changing hands is not part of one.
func TestObserverFindsLastingDeadlocks(t *testing.T) {
	r := runs(t, time.Now, Rule{Name: "deadlock", Lock: func(c *Case) []Finding {
		if c.Cycle == nil {
			return nil
		}
		return []Finding{{Rule: "deadlock", Severity: Critical, Message: strings.Join(c.Cycle.Owners, " → ")}}
	}})
	began := time.Now()
	r.send <- Update{Put: []*Lock{chain("1", "a", "b"), chain("2", "b", "a")}, Backend: zkUp}
	r.await(t, func(s *Snapshot) bool {
		found := 0
		for l := range s.Locks() {
			found += len(l.Findings)
		}
		return found == 2 && len(s.Cycles()) == 1
	})
	must.True(t, time.Since(began) >= SettleFor, "found after", time.Since(began))
	r.send <- Update{Put: []*Lock{chain("2", "b")}}
	r.await(t, func(s *Snapshot) bool {
		return len(s.Cycles()) == 0 && len(s.Lock(ID{"zk", "/1"}).Findings) == 0
	})
	r.end(t)
}
