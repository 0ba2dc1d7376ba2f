package finding

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// Possible locks may be registries, counters, caches or queues of jobs, so they raise no alarm and
// no release is advised.
func TestPossibleLocksStayQuiet(t *testing.T) {
	t.Parallel()
	cases, _ := everything("x")
	guessed := 0
	for _, c := range cases {
		certain := 0
		for _, sure := range []recipe.Confidence{recipe.Likely, recipe.Possible} {
			l := *c.Lock
			l.Confidence = sure
			c.Lock = &l
			for _, r := range Rules() {
				if r.Lock == nil {
					continue
				}
				for _, f := range r.Lock(&c) {
					switch {
					case sure == recipe.Likely:
						certain++
					case f.Severity != inspect.Info || strings.Contains(f.Advice(), "release") || f.Rule != "blind" && f.Confidence != recipe.Possible:
						t.Errorf("%s is %s and %s: %s", f.Rule, f.Severity, f.Confidence, f.Advice())
					}
				}
			}
		}
		guessed += certain
	}
	must.True(t, guessed >= 20, "only", guessed, "findings about possible locks")
}

// An action is advised only if none of its evidence is unseen.
func TestPartialEvidenceAdvisesNoAction(t *testing.T) {
	t.Parallel()
	unseen := func(a inspect.Aspect) func(*inspect.Lock) {
		return func(l *inspect.Lock) { l.Unseen = []inspect.Unseen{{Aspect: a, Where: "r1", Read: "X"}} }
	}
	stuck := func(a inspect.Aspect) inspect.Case {
		return present(with(queue("kazoo", 3), unseen(a), holder(func(h *inspect.Contender) { h.HeldSince = now.Add(-time.Hour) })))
	}
	leftover := func(a inspect.Aspect) inspect.Case { return present(with(votes("a--", time.Minute), unseen(a))) }
	for _, tt := range []struct {
		rule  string
		c     inspect.Case
		holds bool // the advice remains
	}{
		{"stuck-holder", stuck(inspect.AspectSessions), true},
		{"stuck-holder", stuck(inspect.AspectHolders), false},
		{"minority-leftover", leftover(inspect.AspectOwner), true},
		{"minority-leftover", leftover(inspect.AspectVotes), false},
	} {
		found := diagnose(t, tt.rule, tt.c)
		if len(found) != 1 {
			t.Fatalf("%s: %+v", tt.rule, found)
		}
		if f := found[0]; strings.Contains(f.Advice(), "lockscope release") != tt.holds || (f.Confidence != recipe.Possible) != tt.holds {
			t.Errorf("%s without %v: %s, %s", tt.rule, tt.c.Lock.Unseen[0].Aspect, f.Confidence, f.Advice())
		}
	}
}

// If independent servers are given as the masters of one lock, the target is suspect, not the
// locks.
func TestSuspectTarget(t *testing.T) {
	t.Parallel()
	servers := func(spread inspect.Spread, roles ...string) inspect.Case {
		b := &inspect.Backend{Kind: inspect.Redis, Spread: spread}
		for i, role := range roles {
			b.Servers = append(b.Servers, inspect.Server{Addr: "r" + string(rune('1'+i)), Role: role})
		}
		return inspect.Case{Backend: b, Now: now}
	}
	of := func(topology inspect.Topology, c inspect.Case) inspect.Case {
		c.Backend.Topology = topology
		return c
	}
	several := func(c inspect.Case) inspect.Case {
		c.Backend.Servers[0].Several = true
		return c
	}
	apart := inspect.Spread{Masters: 3, Locks: 4, OnOne: 4, Used: 3}
	check(t, "suspect-target",
		fires("every lock is on one of three", servers(apart, "master", "master", "master")),
		fires("many, all on the same one",
			servers(inspect.Spread{Masters: 3, Locks: 5, OnOne: 5, Used: 1}, "master", "master", "master")),
		silent("a failed attempt or two",
			servers(inspect.Spread{Masters: 3, Locks: 2, OnOne: 2, Used: 1}, "master", "master", "master")),
		silent("one lock is on several",
			servers(inspect.Spread{Masters: 3, Locks: 5, OnOne: 4, Used: 3}, "master", "master", "master")),
		fires("nine of ten",
			servers(inspect.Spread{Masters: 3, Locks: 10, OnOne: 9, Used: 3}, "master", "master", "master")),
		silent("a single lock",
			servers(inspect.Spread{Masters: 3, Locks: 1, OnOne: 1, Used: 1}, "master", "master", "master")),
		fires("a replica among them", servers(inspect.Spread{}, "master", "replica")),
		fires("an active replica among them", servers(inspect.Spread{}, "master", "active-replica")),
		silent("one active replica", servers(inspect.Spread{}, "active-replica")),
		fires("several behind one address", several(servers(inspect.Spread{}, "master"))),
		silent("a Cluster has replicas", of(inspect.Cluster, servers(inspect.Spread{}, "master", "replica"))),
		silent("behind Sentinels too", of(inspect.Sentinel, servers(inspect.Spread{}, "master", "replica"))),
		silent("replicas only", servers(inspect.Spread{}, "replica", "replica")),
		silent("masters", servers(inspect.Spread{}, "master", "master")),
	)
	for _, rule := range []string{"minority-leftover", "split-quorum"} {
		for _, letters := range []string{"a--", "ab-"} {
			suspect := present(votes(letters, time.Minute), func(c *inspect.Case) { c.Spread = apart })
			if found := diagnose(t, rule, suspect); found != nil {
				t.Errorf("%s on %s of a suspect target: %+v", rule, letters, found)
			}
		}
	}
}

// redis-py locks on one server, so its lock on one of three servers is held.
func TestSingleServerLibraryNeedsNoQuorum(t *testing.T) {
	t.Parallel()
	of := func(library, letters string) inspect.Case {
		return present(with(votes(letters, time.Minute), func(l *inspect.Lock) { l.Recipe, l.Confidence = library, recipe.Likely }))
	}
	check(t, "suspect-target",
		fires("on one", of("redis-py", "-a-")),
		fires("another on each", of("redis-py", "ab-")),
		silent("a library that may ask all", of("redsync", "-a-")),
		silent("on a quorum", of("redis-py", "aa-")),
	)
	first, next := diagnose(t, "suspect-target", of("redis-py", "-a-")), diagnose(t, "suspect-target", of("redis-py", "-b-"))
	must.Equal(t, next[0].Key(), first[0].Key(), "the finding about the next holder")
	for rule, letters := range map[string]string{"minority-leftover": "-a-", "split-quorum": "ab-"} {
		if found := diagnose(t, rule, of("redis-py", letters)); found != nil {
			t.Errorf("%s: %+v", rule, found)
		}
		must.True(t, diagnose(t, rule, of("redsync", letters)) != nil, rule, "has no finding for redsync")
	}
	for letters, want := range map[string]string{"-a-": "most likely held", "ab-": "most likely each is held"} {
		if got := (describe.View{Now: now}).Verdict(of("redis-py", letters).Lock); !strings.HasPrefix(got, "unknown: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", letters, got)
		}
	}
}

// Every rule about locks names the aspects that it depends on, except for a few that need none.
func TestRulesRestOnAspects(t *testing.T) {
	t.Parallel()
	for _, r := range all {
		if r.lock != nil && r.restsOn == nil && !slices.Contains([]string{"blind", "foreign-value", "sequence-wrap"}, r.name) {
			t.Errorf("%s: set restsOn, or add it to this list if no unseen aspect can make it wrong", r.name)
		}
	}
}
