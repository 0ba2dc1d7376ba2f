package finding

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// minorityLeftover reports a value that is on fewer masters than a quorum, while the others have
// none. Its client does not hold the lock, and the leftover votes block the next client. A key that
// was just set is left alone, since its client may still be asking the other masters.
//
// Cause in the wild: a failed or cancelled attempt that did not clean up. redsync leaves keys when
// the caller's context ends, and renewed them after a restart cost it the quorum (PR #147, #149).
// See also minio #10948 and #11275. The same happens with a library whose lock is several keys on
// one master (rueidislock), if only some of them are set.
func minorityLeftover() rule {
	return rule{
		name: "minority-leftover", severity: inspect.Warning,
		means:    "A value is on too few Redis masters for a quorum. Its client does not hold the lock, but blocks others.",
		sure:     "Look again: its client may still be asking the other masters.",
		do:       "Wait until it expires. Release it if it comes back or never expires.",
		not:      "Do not treat its client as the holder.",
		evidence: "value, votes, quorum, masters (addr, says), expires_at of the last vote or never_expires",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectVotes}, asOf: votesRead,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if l.State != inspect.StateMinority || settling(c) || c.Spread.Suspect() || l.OneServer() {
			return nil
		}
		vote := firstVote(l)
		if vote == nil {
			return partLeftover(l)
		}
		e := evidence{
			"value": says(vote), "votes": l.Votes(), "quorum": l.Quorum, "masters": ballots(l),
			"cause": "a failed or cancelled attempt that did not clean up on every master",
		}
		return one(inspect.Finding{
			Subject:    inspect.Subject{Contender: vote.Value, Digest: vote.Digest},
			Confidence: recipe.Certain,
			Message:    fmt.Sprintf("%s is on only %d of %d masters (quorum %d): no client holds the lock", describe.BriefName(vote.Value), l.Votes(), len(l.Masters), l.Quorum),
			Evidence:   e,
			Steps:      do(wait("wait for "+untilEnd(l, e, c.Now)), releaseWaiter(c, "if it comes back", vote.Argument())),
		})
	})
}

// firstVote is the first vote with a value; nil if none.
func firstVote(l *inspect.Lock) *inspect.Vote {
	for m := range eachVote(l) {
		return m
	}
	return nil
}

// partLeftover reports a value with too few of the keys that its library makes per lock.
func partLeftover(l *inspect.Lock) []inspect.Finding {
	m, value := part(l)
	if m == nil {
		return nil
	}
	return one(inspect.Finding{
		Confidence: recipe.Certain,
		Message:    fmt.Sprintf("%s has too few of the lock's keys on %s: no client holds the lock", describe.BriefName(value), at(m.Addr)),
		Evidence: evidence{
			"value": value.String(), "votes": l.Votes(), "quorum": l.Quorum, "masters": ballots(l),
			"cause": "a failed or cancelled attempt that did not clean up all of its keys",
		},
		Steps: do(wait("wait for the keys to expire; if they come back, see which client keeps trying")),
	})
}
