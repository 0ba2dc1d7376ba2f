package finding

import (
	"fmt"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// minorityLeftover: fewer masters than a quorum hold a value, and the others have none: left behind by somebody who does not
// hold the lock. It takes its votes away from whoever tries next. A key that was set within the last moment is left alone:
// its client may be asking the other masters just now.
//
// Cause in the wild: a failed or cancelled attempt that did not clean up (redsync leaves keys when the caller's context
// ends); redsync PR #147, #149 (renewed on after a restart took the quorum); minio #10948, #11275.
//
// Evidence: value, votes, quorum, masters (addr, says); expires_at of the last vote, or never_expires.
func minorityLeftover() inspect.Rule {
	return lockRule("minority-leftover", inspect.Warning, func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if l.State != inspect.StateMinority || settling(c) {
			return nil
		}
		var vote *inspect.Vote
		each(l, func(m *inspect.Vote) {
			if vote == nil {
				vote = m
			}
		})
		if vote == nil {
			return nil
		}
		e := evidence{
			"value": says(vote), "votes": l.Votes(), "quorum": l.Quorum, "masters": ballots(l),
			"cause": "a failed or cancelled attempt that did not clean up on every master",
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    fmt.Sprintf("%s stands on %d of %d masters, short of the quorum of %d: nobody holds the lock", short(vote.Value), l.Votes(), len(l.Masters), l.Quorum),
			Evidence:   e,
			Advice:     "wait for " + untilEnd(l, e) + ". If it comes back or never expires: " + release(l.ID, vote.Value, vote.Digest) + " --waiter",
		})
	})
}
