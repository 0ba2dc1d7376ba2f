package finding

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// semaphoreOvercommit reports more granted leases than the semaphore has permits. Leases that are
// dead or have expired do not count.
//
// Cause in the wild: clients that were started with different numbers of permits. In Curator and
// kazoo each client sets the number itself (CURATOR-595; kazoo writes the creator's number into the
// parent).
func semaphoreOvercommit() rule {
	return rule{
		name: "semaphore-overcommit", severity: inspect.Critical,
		means:    "More leases are granted than the semaphore has permits.",
		sure:     "Compare the permits in the clients' configurations.",
		do:       "Give all clients the same number, and restart those with more.",
		not:      "Do not release leases: their owners keep working.",
		evidence: "holders, held, limit",
		restsOn:  []inspect.Aspect{inspect.AspectHolders},
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if l.Kind != inspect.KindSemaphore || l.Limit <= 0 || len(l.Holders) <= l.Limit {
			return nil
		}
		held := each.Count(l.Holders, func(h inspect.Contender) bool {
			return !h.Dead && (h.ExpiresAt.IsZero() || h.ExpiresAt.After(c.Now))
		})
		if held <= l.Limit {
			return nil
		}
		return one(inspect.Finding{
			Confidence: recipe.Likely,
			Message: fmt.Sprintf("%d leases are granted on a semaphore of %s",
				held, describe.Count(l.Limit, "permit")),
			Evidence: evidence{
				"held": held, "limit": l.Limit, "holders": names(l.Holders),
				"cause": "clients that use different numbers of permits",
			},
			Steps: do(configure("give all clients the same number of permits"),
				restart(fmt.Sprintf("restart those that use more than %d; do not release leases: "+
					"their owners would keep working", l.Limit))),
		})
	})
}
