package finding

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// followed lists parts of each rule's advice and the tests that carry it out on servers until the
// finding is gone. Advice without a test leaves a decision to the reader.
var followed = []struct{ rule, advice, shown string }{
	{"no-quorum", "bring one of them back, and do not stop another", "cli/testdata/script.doctor-knows-a-lost-quorum"},
	{"deadlock", "or release its lock (its client keeps running): lockscope release", freesHung},
	{"split-quorum", "release the vote that never expires: lockscope release", freesHung},
	{"mixed-recipes", "stop the clients of all libraries but one", advisedEntries},
	{"semaphore-overcommit", "Restart those that use more than", advisedEntries},
	{"persistent-contender", "if its client is gone: lockscope release", freesHung + " " + advisedEntries},
	{"two-leaders", "restart that client: it will not notice", "cli/testdata/script.leaders-that-were-forced-out"},
	{"writes-refused", "it accepts writes again after a save: redis-cli", advisedOnRedis},
	{"writes-refused", "or raise maxmemory", advisedOnRedis},
	{"writes-refused", "decide whether", ""},
	{"stuck-holder", "If it hangs, release it (its client keeps running): lockscope release", freesHung},
	{"stuck-holder", "Its client can be asked to release it, and may do so: lockscope ask", freesHung},
	{"ghost-owner", "wait for the session to time out", "cli/testdata/script.dead-clients-are-ghosts"},
	{"ghost-owner", "If it stays although its process is gone: lockscope release", freesHung},
	{"ghost-owner", "if no process has this id any more: lockscope release", freesHung},
	{"missing-watch", "restart that client so that it queues again", advisedClients},
	{"lost-wakeup", "restart it if it is waiting", advisedClients},
	{"herd", "each waiter should watch only the contender before it", advisedClients},
	{"alien-child", "Make that program write elsewhere, then delete it", advisedEntries},
	{"no-ttl", "set an expiry longer than its work takes: lockscope ttl", freesHung + " cli/testdata/script.ttl-is-set-as-advised lockops/act.TestRedisActionsWorkOnEveryRecipe"},
	{"renewal-stopped", "stop what this client is doing under the lock", "inspect/finding.TestStoppedRenewalIsFoundLive"},
	{"zombie-renewal", "restart that process if the work is done, which ends the renewal", "inspect/finding.TestZombieRenewalIsFoundLive"},
	{"minority-leftover", "If it comes back: lockscope release", freesHung},
	{"suspect-target", "give each server its own target", advisedOnRedis},
	{"servers-disagree", "give each ensemble its own target", advisedEntries},
	{"thin-margin", "find out why", ""},
	{"master-restarted", "let the holder finish first", advisedOnRedis},
	{"clock-skew", "run chronyc tracking on these hosts and here", "cli/testdata/script.clocks-are-compared"},
	{"stale-fair-queue", "If its client is gone: lockscope release", freesHung},
	{"starvation", "choose a fair lock", ""},
	{"eviction-risk", "maxmemory-policy noeviction", advisedOnRedis},
	{"foreign-value", "rename one of the two", advisedOnRedis},
	{"blind", "allow", advisedOnRedis},
	{"replica-failover", "set min-replicas-to-write 1", "inspect/finding.TestRealMasterWithAReplica"},
	{"empty-locks", "see which of them have been idle for a day: lockscope sweep", "cli/testdata/script.leftovers-are-swept-as-advised"},
	{"outlier-client", "restart its program, which frees what it leaked", advisedClients},
	{"sequence-wrap", "at a quiet time stop the clients, delete the empty directory", advisedEntries},
	{"self-wait", "If none of its threads is working under the lock: lockscope release", freesHung},
}

const (
	freesHung      = "cli.TestFollowingAdviceFreesHungLocks"
	advisedEntries = "cli/testdata/script.entries-are-mended-as-advised"
	advisedClients = "cli/testdata/script.clients-are-mended-as-advised"
	advisedOnRedis = "cli/testdata/script.redis-is-mended-as-advised"
)

func TestEachRulesAdviceWasFollowed(t *testing.T) {
	t.Parallel()
	given := map[string]string{} // all advice of a rule
	for _, f := range adviceGiven("x") {
		given[f.Rule] += f.Advice() + "\n"
	}
	have := map[string]bool{}
	for _, row := range followed {
		have[row.rule] = true
		must.Contain(t, given[row.rule], row.advice, "advice of", row.rule)
		for shown := range strings.FieldsSeq(row.shown) {
			must.True(t, doneIn(t, row.rule, shown), shown, "is missing, or its file does not name", row.rule)
		}
	}
	for _, r := range all {
		must.True(t, have[r.name], r.name, "is missing in followed")
	}
}

// adviceGiven returns findings about locks of this name, with all advice of the rules.
func adviceGiven(text string) []inspect.Finding {
	cases, backend := everything(text)
	endless, obliging, held, orphan := votes("a"), queue("curator", 3), queue("kazoo", 2), votes("abc")
	for _, l := range []*inspect.Lock{endless, orphan} {
		l.ID.Path, l.Masters[0].NoExpiry = text, true
	}
	endless.Holders[0].NoExpiry = true
	obliging.ID.Path, obliging.Holders[0].Revocable = "/"+text, true
	obliging.Holders[0].HeldSince = now.Add(-time.Hour)
	cycle := present(held, func(c *inspect.Case) {
		c.Cycle = &inspect.Cycle{
			Locks: []inspect.ID{held.ID}, Owners: []string{"a", "b"},
			Cheapest: inspect.CycleHold{Lock: held.ID, Name: "a"},
		}
	})
	for _, c := range slices.Clone(cases) { // the same cases without refused reads
		seen := *c.Lock
		seen.Unseen, c.Lock = nil, &seen
		cases = append(cases, c)
	}
	return findingsIn(append(cases, present(endless), present(obliging), present(orphan), cycle), backend)
}

// doneIn reports whether a test, as FOLDER.Test or FOLDER.page, exists in a file that names the
// rule.
func doneIn(t *testing.T, rule, test string) bool {
	t.Helper()
	dir, name, _ := strings.Cut(test, ".")
	if page, err := os.ReadFile(filepath.Join("../..", dir, name+".txtar")); err == nil {
		return strings.Contains(string(page), rule)
	}
	files := must.Have(filepath.Glob(filepath.Join("../..", dir, "*_test.go")))(t)
	for _, file := range files {
		text := must.Have(os.ReadFile(file))(t)
		if s := string(text); strings.Contains(s, "\nfunc "+name+"(t *testing.T)") && strings.Contains(s, rule) {
			return true
		}
	}
	return false
}
