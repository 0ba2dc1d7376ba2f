package finding

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

func TestDeadlock(t *testing.T) {
	t.Parallel()
	cycle := &inspect.Cycle{
		Locks: []inspect.ID{{Backend: "zk", Path: "/a"}, {Backend: "redis", Path: "b"}}, Owners: []string{"web-1", "web-2"},
		Cheapest: inspect.CycleHold{Owner: -1},
	}
	free := *cycle
	free.Cheapest = inspect.CycleHold{Owner: 0, Lock: cycle.Locks[1], Name: "token 1"}
	in := func(cy *inspect.Cycle) func(*inspect.Case) { return func(c *inspect.Case) { c.Cycle = cy } }
	owned := func(owners ...string) *inspect.Cycle {
		over := *cycle
		over.Owners = owners
		return &over
	}
	tied := func(sure recipe.Confidence) *inspect.Cycle {
		over := *cycle
		over.Ties = []inspect.Tie{{Owner: 1, Session: 7, Backend: "zk", Client: "web-2:8", By: "process web-2:8", Certainty: sure}}
		return &over
	}
	check(t, "deadlock", []state{
		{
			name: "two locks in a circle", c: present(queue("kazoo", 2), in(cycle)), fires: true,
			severity: inspect.Critical, confidence: recipe.Likely, has: []string{"2 locks", "web-1 → web-2 → web-1"},
			evidence: map[string]any{"locks": []string{"zk:/a", "redis:b"}, "owners": []string{"web-1", "web-2"}},
		},
		{
			name: "names without their addresses", c: present(queue("kazoo", 2), in(owned("web-1 10.0.0.1:5", "web-2 10.0.0.1:6"))), fires: true,
			severity: inspect.Critical, confidence: recipe.Likely, has: []string{"2 locks: web-1 → web-2 → web-1 wait"},
		},
		{
			name: "addresses of the same name", c: present(queue("kazoo", 2), in(owned("web 10.0.0.1:5", "web 10.0.0.1:6"))), fires: true,
			severity: inspect.Critical, confidence: recipe.Likely, has: []string{"2 locks: web 10.0.0.1:5 → web 10.0.0.1:6 →"},
		},
		{
			name: "the cheapest hold is on another lock", fires: true, severity: inspect.Critical, confidence: recipe.Likely,
			c: present(queue("kazoo", 2), in(&free), func(c *inspect.Case) {
				c.Reach = map[string]inspect.Reach{"zk": {Target: "zk://z:1"}, "redis": {Target: "redis://r:2"}}
			}),
			evidence: map[string]any{"cheapest": "redis:b"},
			advice:   "cheapest fix: stop web-1, or release its lock (its client keeps running): lockscope release redis:b redis://r:2 --owner 'token 1'. Then make all clients take these locks in the same order",
		},
		{
			name: "a session and a client that are one process", c: present(queue("kazoo", 2), in(tied(recipe.Likely))), fires: true,
			severity: inspect.Critical, confidence: recipe.Likely, has: []string{"deadlock across 2 locks: web-1"},
			evidence: map[string]any{"ties": []evidence{
				{"owner": "web-2", "session": "0x7", "client": "web-2:8", "by": "process web-2:8", "certainty": "likely"},
			}},
		},
		{
			name: "a session and a client of one host", c: present(queue("kazoo", 2), in(tied(recipe.Possible))), fires: true,
			severity: inspect.Warning, confidence: recipe.Possible, has: []string{"possibly"}, advice: "first make sure that each of these is one program",
		},
		{name: "a chain that ends", c: present(queue("kazoo", 2))},
		{name: "an empty circle", c: present(queue("kazoo", 2), in(&inspect.Cycle{}))},
	})
}

func TestMixedRecipes(t *testing.T) {
	t.Parallel()
	mix := func(first, second string) *inspect.Lock { // the second contender does not watch the first
		return with(queue(first, 2), waiter(func(w *inspect.Contender) { w.Recipe, w.Watch = second, inspect.Missing }))
	}
	watching := func(answer inspect.Confirmation) *inspect.Lock { // kazoo behind go-zookeeper, by extra_lock_patterns
		return with(mix("go-zookeeper", "kazoo"), waiter(func(w *inspect.Contender) { w.Watch = answer }))
	}
	check(t, "mixed-recipes", []state{
		{name: "it watches the other library's node", c: present(watching(inspect.Confirmed))},
		{name: "it does not", c: present(watching(inspect.Missing)), fires: true, severity: inspect.Critical, confidence: recipe.Likely},
		{
			name: "its watch is unknown", c: present(watching(inspect.Unconfirmed)), fires: true, severity: inspect.Info, confidence: recipe.Possible,
			has: []string{"no watch shows that go-zookeeper and kazoo queue together"},
		},
		{
			name: "its client is away", fires: true, severity: inspect.Info, confidence: recipe.Possible,
			c: present(watching(inspect.Missing), func(c *inspect.Case) { c.Sessions, c.AllSessions = map[int64]inspect.Session{}, true }),
		},
		{
			name: "all may have reconnected since", fires: true, severity: inspect.Info, confidence: recipe.Possible,
			c: read(inspect.TableVoid, present(watching(inspect.Missing))),
		},
		{
			name: "readers of two libraries hold, in no visible order", fires: true, severity: inspect.Info, confidence: recipe.Possible,
			c: present(with(watching(inspect.Confirmed), func(l *inspect.Lock) {
				l.Holders = append(l.Holders, inspect.Contender{Name: "x", State: inspect.Holding, Mode: recipe.Shared, Special: inspect.Special{Recipe: "kazoo"}})
			})),
		},
		{
			name: "kazoo ignores Curator", c: present(mix("curator", "kazoo")), fires: true,
			severity: inspect.Critical, confidence: recipe.Likely, has: []string{"curator and kazoo"},
			evidence: map[string]any{"libraries": map[string]int{"curator": 1, "kazoo": 1}},
		},
		{name: "kazoo ignores go-zookeeper", c: present(mix("kazoo", "go-zookeeper")), fires: true, severity: inspect.Critical, confidence: recipe.Likely},
		{name: "a name without a known library", c: present(mix("curator", "sequential")), fires: true, severity: inspect.Critical, confidence: recipe.Possible},
		{
			name: "go-zookeeper takes Curator's readers for writers", fires: true, severity: inspect.Critical, confidence: recipe.Likely,
			c: present(with(mix("curator", "go-zookeeper"), holder(func(h *inspect.Contender) { h.Mode = recipe.Shared }))),
		},
		{name: "Curator and go-zookeeper order each other", c: present(mix("curator", "go-zookeeper"))},
		{name: "the lock's own library, named again", c: present(mix("kazoo", "kazoo"))},
		{name: "one library", c: present(queue("kazoo", 5))},
	})
}

func TestTwoLeaders(t *testing.T) {
	t.Parallel()
	const forced = "_c_e3b0c44298fc1c149afbf4c8996fb924-latch-0000000000"
	after := func(sessions []int64, all bool, changes ...func(*inspect.Case)) inspect.Case {
		l := queue("curator", 2)
		l.Kind = inspect.KindElection
		return present(l, append([]func(*inspect.Case){func(c *inspect.Case) {
			c.Led = []inspect.Led{{Lock: l.ID, Name: forced, Session: 77, At: now.Add(-time.Minute)}}
			c.Sessions, c.AllSessions = map[int64]inspect.Session{}, all
			for _, id := range sessions {
				c.Sessions[id] = inspect.Session{ID: id, Client: "10.0.0.7:4711"}
			}
		}}, changes...)...)
	}
	check(t, "two-leaders", []state{
		{
			name: "its session lives", c: after([]int64{1, 77}, true), fires: true, severity: inspect.Critical, confidence: recipe.Likely,
			has: []string{"was forced out but is still connected", "still leads next to"}, advice: "restart that client",
			evidence: map[string]any{"contender": forced, "session": "0x4d", "client": "10.0.0.7:4711", "leader": "_c_e3b0c44298fc1c149afbf4c8996fb924-lock-0000000000"},
		},
		{
			name: "no new leader", fires: true, severity: inspect.Critical, confidence: recipe.Likely, has: []string{"although it has no entry"},
			c: after([]int64{77}, true, func(c *inspect.Case) { c.Lock.Holders, c.Lock.Waiters = nil, nil }),
		},
		{name: "unknown whether it is connected", c: after(nil, false), fires: true, severity: inspect.Info, confidence: recipe.Possible, has: []string{"may still lead"}},
		{name: "its session has ended", c: after([]int64{1}, true)},
		{name: "it is a candidate again", c: after([]int64{77}, true, func(c *inspect.Case) { c.Lock.Waiters[0].Owner.Session = 77 })},
		{name: "no leader was forced out", c: after([]int64{77}, true, func(c *inspect.Case) { c.Led = nil })},
	})
}

func TestSemaphoreOvercommit(t *testing.T) {
	t.Parallel()
	semaphore := func(held, limit int, changes ...func(*inspect.Lock)) inspect.Case {
		l := queue("kazoo", held+1)
		l.Kind, l.Limit, l.Holders, l.Waiters = inspect.KindSemaphore, limit, l.Waiters, nil
		return present(with(l, changes...))
	}
	check(t, "semaphore-overcommit", []state{
		{
			name: "three of two", c: semaphore(3, 2), fires: true, severity: inspect.Critical, confidence: recipe.Likely,
			has: []string{"3 leases", "2 permits"}, evidence: map[string]any{"held": 3, "limit": 2},
		},
		{name: "two of two", c: semaphore(2, 2)},
		{name: "three, limit unknown", c: semaphore(3, 0)},
		{name: "three readers", c: semaphore(3, 2, func(l *inspect.Lock) { l.Kind = inspect.KindRW })},
		{name: "one of the three is dead", c: semaphore(3, 2, holder(func(h *inspect.Contender) { h.Dead = true }))},
		{name: "one of the three has expired", c: semaphore(3, 2, holder(func(h *inspect.Contender) { h.ExpiresAt = now.Add(-time.Second) }))},
	})
}

func TestAlienChild(t *testing.T) {
	t.Parallel()
	aliens := func(library string, names ...inspect.Untrusted) inspect.Case {
		return present(with(queue(library, 2), func(l *inspect.Lock) { l.Aliens = names }))
	}
	check(t, "alien-child", []state{
		{
			name: "go-zookeeper fails on it", c: aliens("go-zookeeper", "README"), fires: true, severity: inspect.Warning, confidence: recipe.Certain,
			has: []string{"README is", "every time"}, evidence: map[string]any{"children": []string{"README"}},
		},
		{name: "Curator may wait for it", c: aliens("curator", "README", "config"), fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"README and others are"}},
		{name: "kazoo ignores it", c: aliens("kazoo", "README"), fires: true, severity: inspect.Warning, confidence: recipe.Possible, has: []string{"would fail"}},
		{name: "contenders only", c: aliens("go-zookeeper")},
	})
	for name, node := range map[inspect.Untrusted]string{"leases/README": "stat /l/leases/README. ", "../l-__lock__/README": "stat /l-__lock__/README. "} {
		if found := diagnose(t, "alien-child", aliens("curator", name)); len(found) != 1 || !strings.Contains(found[0].Advice(), node) {
			t.Errorf("%s in a part: %+v", name, found)
		}
	}
}

func TestSequenceWrap(t *testing.T) {
	t.Parallel()
	at := func(numbers ...int32) inspect.Case {
		l := queue("kazoo", len(numbers))
		for i, n := range numbers {
			if i == 0 {
				l.Holders[0].Sequence = n
			} else {
				l.Waiters[i-1].Sequence = n
			}
		}
		return present(l)
	}
	check(t, "sequence-wrap", []state{
		{name: "a million before the end", c: at(math.MaxInt32 - 1_000_000 + 1), fires: true, severity: inspect.Info, confidence: recipe.Certain, has: []string{"only 999999 numbers"}, evidence: map[string]any{"left": 999999}},
		{name: "the newest is negative", c: at(math.MaxInt32, math.MinInt32), fires: true, severity: inspect.Info, confidence: recipe.Certain, has: []string{"have wrapped"}, evidence: map[string]any{"sequence": int32(math.MinInt32), "left": 0}},
		{name: "the last number", c: at(math.MaxInt32, math.MaxInt32), fires: true, severity: inspect.Info, confidence: recipe.Certain, has: []string{"used up"}, evidence: map[string]any{"left": 0}},
		{name: "one number more than a million", c: at(math.MaxInt32 - 1_000_000)},
		{name: "a new directory", c: at(0, 1)},
		{name: "names without numbers", c: present(with(queue("ephemeral", 1), holder(func(h *inspect.Contender) { h.Sequential, h.Sequence = false, -1 })))},
	})
}

// A message about long names with a common prefix shows where they differ.
func TestShortNamesDiffer(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for i := range 3 {
		shown[describe.BriefName(inspect.Untrusted(fmt.Sprintf("_c_e3b0c442-98fc-1c14-9afb-f4c8996fb924-lock-%010d", i)))] = true
	}
	must.Equal(t, len(shown), 3, "names look alike", shown)
	for name := range shown {
		must.True(t, len([]rune(name)) <= 33, name, "is too long")
	}
}
