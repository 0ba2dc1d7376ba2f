package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// splitQuorum reports masters that hold different values, none with a quorum. The lock has no
// holder, and no client can get it before the leftovers expire. A key whose votes were all set
// within the last moment is left alone, since its clients may be about to withdraw them.
//
// Cause in the wild: clients that asked the masters at the same time and did not release all of
// them, or that have different lists of masters: node-redlock #168, #185, #131 ("unable to achieve
// a quorum", which does not name the votes).
func splitQuorum() rule {
	return rule{
		name: "split-quorum", severity: inspect.Critical,
		means: "Redis masters hold different values, and none has a quorum. No client has the lock, and none can " +
			"get it until some values expire.",
		sure: "Look again: clients may be about to withdraw their values. Compare their lists of masters.",
		do: "Wait until the values expire; release one that never does. Make failed attempts release on all " +
			"masters.",
		not: "Do not release values that are about to expire.",
		evidence: "ballot (votes of each value), masters (addr, says), quorum, expires_at of the last vote or " +
			"never_expires",
		restsOn: []inspect.Aspect{inspect.AspectHolders, inspect.AspectVotes}, asOf: votesRead,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if l.State != inspect.StateSplit || settling(c) || c.Spread.Suspect() || l.OneServer() {
			return nil
		}
		e := evidence{
			"ballot": l.Ballot(), "masters": ballots(l), "quorum": l.Quorum,
			"cause": "clients that failed to get a quorum did not release everywhere, " +
				"or use different lists of masters",
		}
		steps := do(wait("wait for "+untilEnd(l, e, c.Now)),
			configure("compare the clients' lists of masters, and make failed attempts release on all of them"))
		if never := forever(l); never != nil {
			steps = do(releaseWaiter(c, "release the vote that never expires", never.Argument()))
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    fmt.Sprintf("no value has a quorum of the %d masters (%s, needs %d): no client holds it or can get it", len(l.Masters), l.Ballot(), l.Quorum),
			Evidence:   e,
			Steps:      steps,
		})
	})
}

// untilEnd describes the time until the votes expire, and records it in the evidence.
func untilEnd(l *inspect.Lock, e evidence, now time.Time) string {
	at, never := ending(l)
	switch {
	case never:
		e["never_expires"] = true
		return "its release, since it never expires"
	case at.IsZero():
		return "the keys to expire"
	default:
		e["expires_at"] = stamp(at)
		return "the keys to expire at " + utc(at, now)
	}
}

// forever is the first vote that never expires; nil if all do.
func forever(l *inspect.Lock) *inspect.Vote {
	for m := range eachVote(l) {
		if endless(m) {
			return m
		}
	}
	return nil
}
