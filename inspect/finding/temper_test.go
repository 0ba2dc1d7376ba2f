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
	for _, tt := range []struct {
		rule   string
		lock   *inspect.Lock
		unseen inspect.Aspect
		holds  bool // the advice remains
	}{
		{"stuck-holder", held(time.Hour), inspect.AspectSessions, true},
		{"stuck-holder", held(time.Hour), inspect.AspectHolders, false},
		{"minority-leftover", votes("a--", time.Minute), inspect.AspectOwner, true},
		{"minority-leftover", votes("a--", time.Minute), inspect.AspectVotes, false},
	} {
		tt.lock.Unseen = []inspect.Unseen{{Aspect: tt.unseen, Where: "r1", Read: "X"}}
		found := diagnose(t, tt.rule, tt.lock)
		must.Equal(t, len(found), 1, tt.rule)
		must.Equal(t, strings.Contains(found[0].Advice(), "lockscope release"), tt.holds, tt.rule, "without", tt.unseen)
		must.Equal(t, found[0].Confidence != recipe.Possible, tt.holds, tt.rule, "is certain without", tt.unseen)
	}
}

// If independent servers are given as the masters of one lock, the target is suspect, not the
// locks.
func TestSuspectTarget(t *testing.T) {
	t.Parallel()
	servers := func(spread inspect.Spread, roles ...string) *inspect.Backend {
		b := &inspect.Backend{Kind: inspect.Redis, Spread: spread}
		for i, role := range roles {
			b.Servers = append(b.Servers, inspect.Server{Addr: "r" + string(rune('1'+i)), Role: role})
		}
		return b
	}
	behind := func(topology inspect.Topology) func(*inspect.Case) {
		return func(c *inspect.Case) { c.Backend.Topology = topology }
	}
	several := func(c *inspect.Case) { c.Backend.Servers[0].Several = true }
	masters := func(locks, onOne, used int) *inspect.Backend {
		return servers(inspect.Spread{Masters: 3, Locks: locks, OnOne: onOne, Used: used}, "master", "master", "master")
	}
	apart := inspect.Spread{Masters: 3, Locks: 4, OnOne: 4, Used: 3}
	check(t, "suspect-target",
		fires("every lock is on one of three", masters(4, 4, 3)),
		fires("many, all on the same one", masters(5, 5, 1)),
		silent("a failed attempt or two", masters(2, 2, 1)),
		silent("one lock is on several", masters(5, 4, 3)),
		fires("nine of ten", masters(10, 9, 3)),
		silent("a single lock", masters(1, 1, 1)),
		fires("a replica among them", servers(inspect.Spread{}, "master", "replica")),
		fires("an active replica among them", servers(inspect.Spread{}, "master", "active-replica")),
		silent("one active replica", servers(inspect.Spread{}, "active-replica")),
		fires("several behind one address", servers(inspect.Spread{}, "master"), several),
		silent("a Cluster has replicas", servers(inspect.Spread{}, "master", "replica"), behind(inspect.Cluster)),
		silent("behind Sentinels too", servers(inspect.Spread{}, "master", "replica"), behind(inspect.Sentinel)),
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
	of := func(library, letters string) *inspect.Lock {
		return with(votes(letters, time.Minute), func(l *inspect.Lock) { l.Recipe = library }) // which is likely
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
		if got := (describe.View{Now: now}).Verdict(of("redis-py", letters)); !strings.HasPrefix(got, "unknown: ") || !strings.Contains(got, want) {
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
