package finding

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// overtakenBy is the number of grants to later contenders that counts as starvation, however short
// the time.
const overtakenBy = 10

// starvation reports a waiter that others overtake. Either ten later contenders got the lock, or
// some did and it has waited over ten times the 99th percentile of at least 20 waits. A long wait
// alone does not count, since the holder may be stuck.
//
// Cause in the wild: a stream of readers ahead of a writer; locks without a queue (SET NX and
// polling); semaphores; a client that lost its place (Redisson #2278, #2883).
func starvation() rule {
	return rule{
		name: "starvation", severity: inspect.Warning,
		means: "Ten later contenders got the lock before this waiter, or some did and it has waited ten times longer " +
			"than usual.",
		sure:     "Timeline shows who overtook it. Does its client still run?",
		do:       "Use a lock with a queue: any on ZooKeeper, a fair one on Redis.",
		not:      "Do not release the holder: the next one overtakes the waiter too.",
		evidence: "contender (the worst), overtaken, starving (how many), wait_p99_ms if compared",
		restsOn:  []inspect.Aspect{inspect.AspectWaiters}, quiet: true,
		needsHistory: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		if len(c.History.Overtaken) == 0 {
			return nil
		}
		usual := usually(c.History.Waits)
		var worst *inspect.Contender
		most, starving, compared := 0, 0, false
		for i := range c.Lock.Waiters {
			w := &c.Lock.Waiters[i]
			n := c.History.Overtaken[w.Name]
			if n == 0 || w.Dead {
				continue
			}
			long := usual > 0 && !w.Since.IsZero() && pastFor(c, w, w.Since) > usual
			if n < overtakenBy && !long {
				continue
			}
			starving++
			if n > most {
				worst, most, compared = w, n, long
			}
		}
		if worst == nil {
			return nil
		}
		e := about(worst)
		e["overtaken"], e["starving"] = most, starving
		e["cause"] = "a stream of readers, a lock without a queue, or a client that lost its place"
		text := ""
		if compared {
			e["wait_p99_ms"] = c.History.Waits.P99.Milliseconds()
			text = ", waiting for over " + describe.Over(pastFor(c, worst, worst.Since)) + ", usually at most " +
				describe.Limit(c.History.Waits.P99)
		}
		return one(inspect.Finding{
			Confidence: recipe.Likely,
			Message: fmt.Sprintf("%s was overtaken %s%s", describe.BriefOwner(worst), describe.Count(most, "time"),
				text),
			Evidence: e, Subject: worst.Subject(),
			Steps: do(wait("check that its client still runs"),
				configure("then choose a fair lock for it (one with a queue): any on ZooKeeper, "+
					"Redisson's fair lock on Redis")),
		})
	})
}
