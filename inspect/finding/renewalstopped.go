package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

const (
	// rhythm is the minimum number of renewals that shows a usual interval.
	rhythm = 3
	// lateAfter is the number of usual intervals without a renewal after which two were missed.
	lateAfter = 2.5
)

// renewalStopped reports a holder that renewed its key at a steady rhythm and has missed two
// renewals. The key expires while its owner may still work. The rule is silent while fewer than a
// quorum of masters answer, since renewals cannot be seen then. A renewal counts as missed only if
// the key was read after it was due.
//
// Known causes: a watchdog that stops without telling its owner (Redisson #4698, #5697, #5698,
// #3194, #2807); a paused or overloaded process; a network partition.
func renewalStopped() rule {
	return rule{
		name: "renewal-stopped", severity: inspect.Warning,
		means: "A holder renewed its key at a steady rate and has missed two renewals. The key will expire while " +
			"its owner may still work.",
		sure:     "Is the holder's process paused, overloaded or cut off?",
		do:       "Stop its work before the key expires, or make it renew.",
		not:      "Do not extend the TTL for a client that is gone.",
		evidence: "contender, renewals seen, every_ms, last_renewal, expires_at",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectExpiry}, quiet: true,
		needsHistory: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l, r := c.Lock, c.History.Renewal
		h := renewed(c)
		if h == nil || known(c).Sub(r.Last) <= time.Duration(lateAfter*float64(r.Every)) {
			return nil
		}
		if h.ExpiresAt.IsZero() || !h.ExpiresAt.After(c.Now) || agreeing(l) < l.Quorum {
			return nil
		}
		if r.TTL > 0 && h.ExpiresAt.Sub(c.Now) > r.TTL-r.Every {
			return nil // it was renewed, but we have not read the new expiry yet
		}
		e := about(h)
		e["renewals"], e["every_ms"], e["last_renewal"], e["expires_at"] = r.Count, r.Every.Milliseconds(),
			stamp(r.Last), stamp(h.ExpiresAt)
		e["cause"] = "a watchdog that stopped silently (Redisson #4698), or a process that is paused or cut off"
		return one(inspect.Finding{
			Confidence: recipe.Likely,
			Message: fmt.Sprintf("%s renewed its key every %s and then stopped: the key expires at %s",
				describe.BriefOwner(h), describe.Limit(r.Every), utc(h.ExpiresAt, c.Now)),
			Evidence: e, Subject: h.Subject(),
			Steps: do(restart("before the key expires, stop what this client is doing under the lock or make it renew: " +
				"after that another client gets the lock")),
		})
	})
}

// renewed returns the one holder whose key is renewed at a steady rhythm, or nil.
func renewed(c *inspect.Case) *inspect.Contender {
	l, r := c.Lock, c.History.Renewal
	if r.Count < rhythm || r.Every <= 0 || len(l.Masters) == 0 || len(l.Holders) != 1 {
		return nil
	}
	return &l.Holders[0]
}

// agreeing counts the masters that answered and hold the most common value.
func agreeing(l *inspect.Lock) int {
	return each.Count(l.Masters, func(m inspect.Vote) bool { return m.Up && m.Agrees })
}
