package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// zombieRenewal reports a key that has been renewed for longer than StuckAfter. After at least 20
// holds, it must also exceed ten times their 99th percentile (likely). Before that, others must be
// waiting (possible), since a leader renews forever. Certain elections are skipped; see
// stuckHolder.
//
// Cause in the wild: a watchdog that outlives the work that it was started for: Redisson #1626, #1966, #2714, #7272.
func zombieRenewal() rule {
	return rule{
		name: "zombie-renewal", severity: inspect.Warning, sometimes: inspect.Info,
		means: "A key has been renewed for far longer than usual, or for longer than `--stuck-after` while others " +
			"wait. The finding is info if it may be an election.",
		sure:     "Is the work done, and only the renewal still running?",
		do:       "Restart the client or, if it cannot be found, release the lock.",
		not:      "Do not release it while the work runs.",
		evidence: "contender with held_since, held_over, renewals, every_ms, last_renewal, hold_p99_ms if compared",
		restsOn:  []inspect.Aspect{inspect.AspectHolders, inspect.AspectExpiry}, quiet: true,
		needsHistory: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l, r := c.Lock, c.History.Renewal
		h := renewed(c)
		if h == nil || elects(c) == recipe.Certain || known(c).Sub(r.Last) > time.Duration(lateAfter*float64(r.Every)) {
			return nil
		}
		limit := stuckAfter(c)
		usual := usually(c.History.Holds)
		if l.ExpectedHold > 0 {
			limit, _ = holdLimit(c)
		}
		held, how := heldFor(c, h, limit)
		if how != exact && how != atLeast || held <= limit || held <= usual || usual == 0 && !waits(l) {
			return nil
		}
		e := about(h)
		e["held_over"], e["renewals"], e["every_ms"], e["last_renewal"] = describe.Over(held), r.Count,
			r.Every.Milliseconds(), stamp(r.Last)
		e["cause"] = "a watchdog that outlives the work it was started for (Redisson #1626, #7272)"
		confidence, text := recipe.Possible, "; "+queued(l)
		if usual > 0 {
			e["hold_p99_ms"] = c.History.Holds.P99.Milliseconds()
			confidence, text = recipe.Likely, ", usually at most "+describe.Limit(c.History.Holds.P99)
		}
		severity := inspect.Warning
		if elects(c) != "" { // a leader renews for as long as it lives
			severity, confidence = inspect.Info, recipe.Possible
		}
		return one(inspect.Finding{
			Severity: severity, Confidence: confidence,
			Message: fmt.Sprintf("%s renews its key every %s, past the limit of %s%s",
				describe.BriefOwner(h), describe.Limit(r.Every), describe.Limit(max(limit, usual)), text),
			Evidence: e, Subject: h.Subject(),
			Steps: do(restart("restart that process if the work is done, which ends the renewal"),
				releaseOf(c, "if it cannot be found", h)),
		})
	})
}
