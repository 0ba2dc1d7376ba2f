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
	check(t, "suspect-target", []state{
		{
			name: "every lock is on one of three", c: servers(apart, "master", "master", "master"), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"each of 4 locks is on only one of the 3"}, evidence: map[string]any{"locks": 4, "masters": []string{"r1", "r2", "r3"}},
		},
		{name: "many, all on the same one", c: servers(inspect.Spread{Masters: 3, Locks: 5, OnOne: 5, Used: 1}, "master", "master", "master"), fires: true, severity: inspect.Warning, confidence: recipe.Likely},
		{name: "a failed attempt or two", c: servers(inspect.Spread{Masters: 3, Locks: 2, OnOne: 2, Used: 1}, "master", "master", "master")},
		{name: "one lock is on several", c: servers(inspect.Spread{Masters: 3, Locks: 5, OnOne: 4, Used: 3}, "master", "master", "master")},
		{
			name: "nine of ten", c: servers(inspect.Spread{Masters: 3, Locks: 10, OnOne: 9, Used: 3}, "master", "master", "master"),
			fires: true, severity: inspect.Warning, confidence: recipe.Likely, has: []string{"9 of 10 locks are on only one of the 3 servers"},
		},
		{name: "a single lock", c: servers(inspect.Spread{Masters: 3, Locks: 1, OnOne: 1, Used: 1}, "master", "master", "master")},
		{name: "a replica among them", c: servers(inspect.Spread{}, "master", "replica"), fires: true, severity: inspect.Warning, confidence: recipe.Certain, has: []string{"r2 is a replica"}, evidence: map[string]any{"master": "r2"}},
		{
			name: "an active replica among them", c: servers(inspect.Spread{}, "master", "active-replica"), fires: true, severity: inspect.Warning,
			confidence: recipe.Certain, has: []string{"r2 is a replica"}, evidence: map[string]any{"role": "active-replica"},
		},
		{name: "one active replica", c: servers(inspect.Spread{}, "active-replica")},
		{
			name: "several behind one address", c: several(servers(inspect.Spread{}, "master")), fires: true, severity: inspect.Warning,
			confidence: recipe.Certain, has: []string{"several servers answer at this address, r1"}, evidence: map[string]any{"server": "r1"},
		},
		{name: "a Cluster has replicas", c: of(inspect.Cluster, servers(inspect.Spread{}, "master", "replica"))},
		{name: "behind Sentinels too", c: of(inspect.Sentinel, servers(inspect.Spread{}, "master", "replica"))},
		{name: "replicas only", c: servers(inspect.Spread{}, "replica", "replica")},
		{name: "masters", c: servers(inspect.Spread{}, "master", "master")},
	})
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
	check(t, "suspect-target", []state{
		{
			name: "on one", c: of("redis-py", "-a-"), fires: true, severity: inspect.Warning, confidence: recipe.Likely,
			has: []string{"its key is on r2", "redis-py takes a lock on one server"}, evidence: map[string]any{"library": "redis-py", "value": "a"},
		},
		{name: "another on each", c: of("redis-py", "ab-"), fires: true, severity: inspect.Warning, confidence: recipe.Likely},
		{name: "a library that may ask all", c: of("redsync", "-a-")},
		{name: "on a quorum", c: of("redis-py", "aa-")},
	})
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
