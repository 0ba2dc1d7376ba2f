package finding

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

func TestDeadlock(t *testing.T) {
	t.Parallel()
	cycle := &inspect.Cycle{
		Locks: []inspect.ID{{Backend: "zk", Path: "/a"}, {Backend: "redis", Path: "b"}}, Owners: []string{"web-1", "web-2"},
		Cheapest: inspect.CycleHold{Owner: -1},
	}
	in := func(changes ...func(*inspect.Cycle)) func(*inspect.Case) {
		over := *cycle
		for _, change := range changes {
			change(&over)
		}
		return func(c *inspect.Case) { c.Cycle = &over }
	}
	labelled := func(first, second string) func(*inspect.Cycle) {
		return func(cy *inspect.Cycle) {
			cy.Labels, cy.Owners = []string{first, second}, []string{first + " 10.0.0.1:5", second + " 10.0.0.1:6"}
		}
	}
	tied := func(sure recipe.Confidence) func(*inspect.Cycle) {
		return func(cy *inspect.Cycle) {
			cy.Ties = []inspect.Tie{{Owner: 1, Session: 7, Backend: "zk", Client: "web-2:8", By: "process web-2:8", Certainty: sure}}
		}
	}
	free := func(cy *inspect.Cycle) {
		cy.Cheapest = inspect.CycleHold{Owner: 0, Lock: cy.Locks[1], Name: "token 1"}
	}
	check(t, "deadlock",
		fires("two locks in a circle", queue("kazoo", 2), in()),
		fires("names without their addresses", queue("kazoo", 2), in(labelled("job 1", "job 2"))),
		fires("addresses of the same name", queue("kazoo", 2), in(labelled("web", "web"))),
		fires("the cheapest hold is on another lock", queue("kazoo", 2), in(free), func(c *inspect.Case) {
			c.Reach = map[string]inspect.Reach{"zk": {Target: "zk://z:1"}, "redis": {Target: "redis://r:2"}}
		}),
		fires("a session and a client that are one process", queue("kazoo", 2), in(tied(recipe.Likely))),
		fires("a session and a client of one host", queue("kazoo", 2), in(tied(recipe.Possible))),
		fires("in a single read", queue("kazoo", 2), in(func(cy *inspect.Cycle) { cy.OneLook = true })),
		fires("owners of several threads", queue("kazoo", 2), in(func(cy *inspect.Cycle) { cy.Shared = true })),
		fires("many owners", queue("kazoo", 2), in(func(cy *inspect.Cycle) { cy.Owners = strings.Split("abcde", "") })),
		silent("a chain that ends", queue("kazoo", 2)),
		silent("an empty circle", queue("kazoo", 2), in(func(cy *inspect.Cycle) { cy.Locks = nil })),
	)
}

func TestMixedRecipes(t *testing.T) {
	t.Parallel()
	mix := func(first, second string) *inspect.Lock { // the second contender does not watch the first
		return with(queue(first, 2), waiter(func(w *inspect.Contender) { w.Recipe, w.Watch = second, inspect.Missing }))
	}
	watching := func(answer inspect.Confirmation) *inspect.Lock { // kazoo behind go-zookeeper, by extra_lock_patterns
		return with(mix("go-zookeeper", "kazoo"), waiter(func(w *inspect.Contender) { w.Watch = answer }))
	}
	secondHolder := func(l *inspect.Lock) {
		l.Holders = append(l.Holders, inspect.Contender{
			Name: "x", State: inspect.Holding, Mode: recipe.Shared, Special: inspect.Special{Recipe: "kazoo"},
		})
	}
	check(t, "mixed-recipes",
		silent("it watches the other library's node", watching(inspect.Confirmed)),
		fires("it does not", watching(inspect.Missing)),
		fires("its watch is unknown", watching(inspect.Unconfirmed)),
		fires("its client is away", watching(inspect.Missing), connected()),
		fires("all may have reconnected since", read(inspect.TableVoid, watching(inspect.Missing))),
		fires("readers of two libraries hold, in no visible order", with(watching(inspect.Confirmed), secondHolder)),
		fires("kazoo ignores Curator", mix("curator", "kazoo")),
		fires("kazoo ignores go-zookeeper", mix("kazoo", "go-zookeeper")),
		fires("a name without a known library", mix("curator", "sequential")),
		fires("go-zookeeper takes Curator's readers for writers",
			with(mix("curator", "go-zookeeper"), holder(func(h *inspect.Contender) { h.Mode = recipe.Shared }))),
		silent("Curator and go-zookeeper order each other", mix("curator", "go-zookeeper")),
		silent("behind an entry of its own library", with(queue("go-zookeeper", 3), func(l *inspect.Lock) {
			l.Waiters[0].Recipe, l.Waiters[0].Watch = "kazoo", inspect.Confirmed
			l.Waiters[1].Recipe, l.Waiters[1].Watch = "kazoo", inspect.Missing
		})),
		silent("the lock's own library, named again", mix("kazoo", "kazoo")),
		silent("one library", queue("kazoo", 5)),
	)
}

func TestTwoLeaders(t *testing.T) {
	t.Parallel()
	const forced = "_c_e3b0c44298fc1c149afbf4c8996fb924-latch-0000000000"
	after := func(sessions []int64, all bool, changes ...func(*inspect.Case)) inspect.Case {
		l := queue("curator", 2)
		l.Kind = inspect.KindElection
		c := present(l, changes...)
		c.Led = []inspect.Led{{Lock: l.ID, Name: forced, Session: 77, At: now.Add(-time.Minute)}}
		c.Sessions, c.AllSessions = map[int64]inspect.Session{}, all
		for _, id := range sessions {
			c.Sessions[id] = inspect.Session{ID: id, Client: "10.0.0.7:4711"}
		}
		return c
	}
	check(t, "two-leaders",
		fires("its session lives", after([]int64{1, 77}, true)),
		fires("no new leader",
			after([]int64{77}, true, func(c *inspect.Case) { c.Lock.Holders, c.Lock.Waiters = nil, nil })),
		fires("unknown whether it is connected", after(nil, false)),
		silent("its session has ended", after([]int64{1}, true)),
		silent("it is a candidate again",
			after([]int64{77}, true, func(c *inspect.Case) { c.Lock.Waiters[0].Owner.Session = 77 })),
		silent("no leader was forced out", after([]int64{77}, true), func(c *inspect.Case) { c.Led = nil }),
	)
}

func TestSemaphoreOvercommit(t *testing.T) {
	t.Parallel()
	semaphore := func(held, limit int, changes ...func(*inspect.Lock)) *inspect.Lock {
		l := queue("kazoo", held+1)
		l.Kind, l.Limit, l.Holders, l.Waiters = inspect.KindSemaphore, limit, l.Waiters, nil
		return with(l, changes...)
	}
	check(t, "semaphore-overcommit",
		fires("three of two", semaphore(3, 2)),
		silent("two of two", semaphore(2, 2)),
		silent("three, limit unknown", semaphore(3, 0)),
		silent("three readers", semaphore(3, 2, func(l *inspect.Lock) { l.Kind = inspect.KindRW })),
		silent("one of the three is dead", semaphore(3, 2, holder(func(h *inspect.Contender) { h.Dead = true }))),
		silent("one of the three has expired",
			semaphore(3, 2, holder(func(h *inspect.Contender) { h.ExpiresAt = now.Add(-time.Second) }))),
	)
}

func TestAlienChild(t *testing.T) {
	t.Parallel()
	aliens := func(library string, names ...inspect.Untrusted) *inspect.Lock {
		return with(queue(library, 2), func(l *inspect.Lock) { l.Aliens = names })
	}
	check(t, "alien-child",
		fires("go-zookeeper fails on it", aliens("go-zookeeper", "README")),
		fires("Curator may wait for it", aliens("curator", "README", "config")),
		fires("kazoo ignores it", aliens("kazoo", "README")),
		fires("a free lock of Curator", with(aliens("curator", "README"), func(l *inspect.Lock) { l.Holders, l.Waiters = nil, nil })),
		fires("among a semaphore's leases", aliens("curator", "leases/README")),
		fires("in kazoo's own directory", aliens("curator", "../l-__lock__/README")),
		silent("contenders only", aliens("go-zookeeper")),
	)
}

func TestSequenceWrap(t *testing.T) {
	t.Parallel()
	at := func(numbers ...int32) *inspect.Lock {
		l := queue("kazoo", len(numbers))
		for i, n := range numbers {
			if i == 0 {
				l.Holders[0].Sequence = n
			} else {
				l.Waiters[i-1].Sequence = n
			}
		}
		return l
	}
	check(t, "sequence-wrap",
		fires("a million before the end", at(math.MaxInt32-1_000_000+1)),
		fires("the newest is negative", at(math.MaxInt32, math.MinInt32)),
		fires("the last number", at(math.MaxInt32, math.MaxInt32)),
		silent("one number more than a million", at(math.MaxInt32-1_000_000)),
		silent("a new directory", at(0, 1)),
		silent("names without numbers",
			with(queue("ephemeral", 1), holder(func(h *inspect.Contender) { h.Sequential, h.Sequence = false, -1 }))),
	)
}
