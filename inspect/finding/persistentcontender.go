package finding

import (
	"cmp"
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// persistentContender reports a contender that no session owns. It stays after its client is gone
// and blocks all later contenders forever. Nodes that are persistent by design are exempt: those
// that expire, and Hive's explicit locks.
//
// Cause in the wild: kazoo's acquire(ephemeral=False) (kazoo PR #492: such locks need manual removal); plain code that
// creates PERSISTENT_SEQUENTIAL nodes.
func persistentContender() rule {
	return rule{
		name: "persistent-contender", severity: inspect.Critical,
		means:    "No session owns this contender, so it stays after its client is gone and blocks all others behind it.",
		sure:     "`show` has the client's host and label, if it wrote them.",
		do:       "Release it once its client is gone. Make clients create ephemeral nodes.",
		not:      "Do not release it while its client may still work.",
		evidence: "contender, state, count, blocked_below",
		restsOn:  []inspect.Aspect{inspect.AspectHolders},
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		var first *inspect.Contender
		n := 0
		for one := range c.Lock.Contenders {
			if one.Persistent && !hasExpiry(one) && !recipe.KeepsNodes(libraryOf(c.Lock, one)) {
				first = cmp.Or(first, one)
				n++
			}
		}
		if first == nil {
			return nil
		}
		e := about(first)
		e["state"], e["count"], e["blocked_below"] = first.State.String(), n, int(first.BlockedBelow)
		e["cause"] = "created without EPHEMERAL, for example by kazoo's acquire(ephemeral=False)"
		message := fmt.Sprintf("%s %s without a session: its node stays if the client dies",
			describe.BriefOwner(first), verb(first))
		if n > 1 {
			message = fmt.Sprintf("%d contenders have no session, the first is %s: "+
				"their nodes stay if the clients die", n, describe.BriefOwner(first))
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message:    message,
			Evidence:   e, Subject: first.Subject(),
			Steps: do(releaseOf(c, "if its client is gone", first),
				configure("make clients create ephemeral nodes")),
		})
	})
}

// hasExpiry reports whether a znode has an end time, as ShedLock's does.
func hasExpiry(c *inspect.Contender) bool { return !c.ExpiresAt.IsZero() }

func verb(c *inspect.Contender) string {
	if c.State == inspect.Holding {
		return "holds the lock"
	}
	return "waits"
}
