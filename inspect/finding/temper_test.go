package finding

import (
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// Possible locks may be registries, counters, caches or queues of jobs, so they raise no alarm and
// no release is advised.
func TestPossibleLocksStayQuiet(t *testing.T) {
	t.Parallel()
	cases, _ := everything("x")
	likely := 0
	for _, c := range cases {
		for _, sure := range []recipe.Confidence{recipe.Likely, recipe.Possible} {
			l := *c.Lock
			l.Confidence = sure
			c.Lock = &l
			for _, r := range Rules() {
				found := of(&r, &c)
				if sure == recipe.Likely {
					likely += len(found)
					continue
				}
				for _, f := range found {
					must.Equal(t, f.Severity, inspect.Info, f.Rule)
					must.True(t, !strings.Contains(f.Advice(), "release"), f.Rule, "advises a release:", f.Advice())
					must.True(t, f.Rule == "blind" || f.Confidence == recipe.Possible, f.Rule, "is", f.Confidence)
				}
			}
		}
	}
	must.True(t, likely >= 20, "only", likely, "findings about likely locks")
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
		{"minority-leftover", votes("a--"), inspect.AspectOwner, true},
		{"minority-leftover", votes("a--"), inspect.AspectVotes, false},
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
			suspect := present(votes(letters), func(c *inspect.Case) { c.Spread = apart })
			must.Equal(t, len(diagnose(t, rule, suspect)), 0, rule, "on", letters, "of a suspect target")
		}
	}
}

// redis-py locks on one server, so its lock on one of three servers is held.
func TestSingleServerLibraryNeedsNoQuorum(t *testing.T) {
	t.Parallel()
	by := func(library, letters string) *inspect.Lock {
		return with(votes(letters), func(l *inspect.Lock) { l.Recipe = library }) // which is likely
	}
	check(t, "suspect-target",
		fires("on one", by("redis-py", "-a-")),
		fires("another on each", by("redis-py", "ab-")),
		silent("a library that may ask all", by("redsync", "-a-")),
		silent("on a quorum", by("redis-py", "aa-")),
	)
	first, next := diagnose(t, "suspect-target", by("redis-py", "-a-")), diagnose(t, "suspect-target", by("redis-py", "-b-"))
	must.Equal(t, next[0].Key(), first[0].Key(), "the finding about the next holder")
	for rule, letters := range map[string]string{"minority-leftover": "-a-", "split-quorum": "ab-"} {
		must.Equal(t, len(diagnose(t, rule, by("redis-py", letters))), 0, rule)
		must.Equal(t, len(diagnose(t, rule, by("redsync", letters))), 1, rule)
	}
}
