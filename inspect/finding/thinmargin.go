package finding

import (
	"fmt"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// thinMargin reports a lock held by exactly a quorum of three or more masters. If one more fails or
// restarts empty, a second client can get it. The rule skips a key that was just set, since other
// masters may be about to follow. It also skips a key if a master does not answer us, since the
// lock's client may still reach it. blind then names that master.
//
// Cause in the wild: clients that stop asking once they have a quorum, redsync #186 (open); a master that was
// down or too slow for the client, or that restarted empty.
func thinMargin() rule {
	return rule{
		name: "thin-margin", severity: inspect.Warning,
		means:    "Of three or more masters, only a bare quorum has the lock. If one more fails, a second client can get it.",
		sure:     "`evidence.without` says what the other masters have.",
		do:       "Find out why these masters lack the key.",
		not:      "Do not restart another master until the lock is released.",
		evidence: "votes, quorum, without (addr and says of the other masters)",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectVotes}, asOf: votesRead,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if len(l.Masters) < 3 || l.Margin != 0 || l.State != inspect.StateHeld && l.State != inspect.StateContended ||
			settling(c) || c.Spread.Suspect() {
			return nil
		}
		var without []evidence
		var why []string
		for i := range l.Masters {
			m := &l.Masters[i]
			if m.Agrees {
				continue
			}
			if !m.Up || hidden(m) {
				return nil
			}
			without = append(without, evidence{"addr": inspect.Escape(m.Addr), "says": says(m)})
			if len(why) < 3 {
				why = append(why, at(m.Addr)+" "+briefly(m))
			}
		}
		if len(without) > len(why) {
			why = append(why, "…")
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message: fmt.Sprintf("only %d of %d masters hold it (%s): one more lost, and a second client can get it",
				l.Votes(), len(l.Masters), strings.Join(why, ", ")),
			Evidence: evidence{
				"votes": l.Votes(), "quorum": l.Quorum, "without": without,
				"cause": "masters that the client did not reach or that restarted empty, " +
					"or a client that stops asking at the quorum (redsync #186)",
			},
			Steps: do(wait("find out why these masters lack it; do not restart another until then")),
		})
	})
}

// briefly says in a word why a master does not vote with the majority.
func briefly(m *inspect.Vote) string {
	switch {
	case !m.Present:
		return "absent"
	case m.Foreign:
		return "no lock"
	default:
		return "other value"
	}
}
