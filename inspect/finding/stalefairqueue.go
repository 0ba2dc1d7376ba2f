package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// staleFairQueue reports waiters in a Redis fair queue that are gone, or whose place has lapsed.
// They lose their place only when another client asks, and hold up all others until then.
//
// Cause in the wild: Redisson's fair lock after a deploy or a crash: #4661 (the queue survives,
// tryLock is false forever), #1104, #2099 (places that lapse hours ahead), #3004; each dead waiter
// costs 5 s (#1353) to 5 min (newer versions).
func staleFairQueue() rule {
	return rule{
		name: "stale-fair-queue", severity: inspect.Warning,
		means: "Waiters of a Redis fair queue are gone, or their places have lapsed. They delay everyone behind " +
			"them.",
		sure:     "Look for their processes on the hosts that `show` names.",
		do:       "Wait until the library drops them. Release a waiter whose client is gone.",
		not:      "Do not delete the queue's keys: live waiters are in them.",
		evidence: "contenders, stale (how many), waiters, head (the next is stale), lapsed_since",
		restsOn:  []inspect.Aspect{inspect.AspectWaiters},
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if l.Recipe == "lockscope" { // its handoff skips the dead at no cost
			return nil
		}
		var stale []inspect.Contender
		var expiredSince time.Time
		dead := 0
		for i := range l.Waiters {
			w := &l.Waiters[i]
			if !inFairQueue(l, w) {
				continue
			}
			over := !w.ExpiresAt.IsZero() && c.Now.Sub(w.ExpiresAt) > time.Second
			if !w.Dead && !over {
				continue
			}
			stale = append(stale, *w)
			if w.Dead {
				dead++
			}
			if over && expiredSince.IsZero() {
				expiredSince = w.ExpiresAt
			}
		}
		if len(stale) == 0 {
			return nil
		}
		head := stale[0].Name == l.Waiters[0].Name
		e := evidence{
			"contenders": names(stale), "stale": len(stale), "waiters": len(l.Waiters), "head": head,
			"cause": "waiters that died in the queue: a crash or a deploy (Redisson #4661, #1353)",
		}
		if !expiredSince.IsZero() {
			e["lapsed_since"] = stamp(expiredSince)
		}
		confidence, what := recipe.Likely, "most likely gone"
		if dead == 0 {
			confidence, what = recipe.Certain, "past due"
		}
		message := fmt.Sprintf("%d of %s %s %s (first %s)", len(stale), describe.Count(len(l.Waiters), "waiter"),
			are(len(stale)), what, describe.BriefName(stale[0].Name))
		if head {
			message = fmt.Sprintf("the next in turn, %s, is %s and holds up the queue; stale: %d of %d",
				describe.BriefName(stale[0].Name), what, len(stale), len(l.Waiters))
		}
		return one(inspect.Finding{
			Confidence: confidence,
			Message:    message,
			Evidence:   e,
			Steps:      do(wait(expiryAdvice(l, &stale[0], c.Now)), releaseOf(c, "if its client is gone", &stale[0])),
		})
	})
}

// inFairQueue reports whether a contender waits in a queue that its Redis library keeps.
func inFairQueue(l *inspect.Lock, w *inspect.Contender) bool {
	return len(l.Masters) > 0 && w.State != inspect.Holding
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// expiryAdvice depends on the library: each drops dead waiters after a different time.
func expiryAdvice(l *inspect.Lock, first *inspect.Contender, now time.Time) string {
	const usual = 5 * time.Minute // RedissonFairLock: threadWaitTime
	switch {
	case first.ExpiresAt.Sub(now) > usual: // places drift ahead (Redisson #2099)
		return "do not wait: the place of the first lasts until " + utc(first.ExpiresAt, now)
	case l.Recipe == "redisson":
		return "wait: Redisson drops each within 5 min"
	}
	return "wait for their places to expire"
}
