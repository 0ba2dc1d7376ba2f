package finding

import (
	"fmt"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
)

// deadlock: owners that wait for each other in a circle, so that none of them ever goes on. It stands on each lock of the
// circle.
//
// Only likely: owners are distinguished by session or process, and two threads of one client can each wait for something else.
//
// Cause in the wild: the same locks taken in different orders; a reader that asks for the write lock (Curator's read-write
// lock never grants it); tools that show the circle were asked for in Redisson #755.
func deadlock() rule {
	return rule{
		name: "deadlock", severity: inspect.Critical,
		means:    "owners wait for each other in a circle",
		evidence: "locks (ids), owners (each waits for the next, the last for the first), contender (the holder of this lock), cheapest (the lock whose end of a hold costs the least: the same on all of the circle's locks)",
		do:       "stop one of them; take locks in one order",
		restsOn:  []inspect.Aspect{inspect.AspectHolders}, asOf: known, quiet: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		if c.Cycle == nil || len(c.Cycle.Locks) == 0 {
			return nil
		}
		ids := make([]string, len(c.Cycle.Locks))
		for i, id := range c.Cycle.Locks {
			ids[i] = id.String()
		}
		owners := make([]string, len(c.Cycle.Owners))
		cycle := make([]string, 0, len(c.Cycle.Owners)+1)
		for i, o := range c.Cycle.Owners {
			owners[i] = inspect.Escape(o)
			cycle = append(cycle, inspect.Untrusted(o).Cut(40))
		}
		if len(cycle) > 4 {
			cycle = append(cycle[:3], "…")
		}
		if len(cycle) > 0 {
			cycle = append(cycle, cycle[0])
		}
		e := evidence{"locks": ids, "owners": owners, "cause": "the same locks are taken in different orders"}
		if len(c.Lock.Holders) > 0 {
			e["contender"] = c.Lock.Holders[0].Name.String()
		}
		advice := "stop one of these clients, then have all take these locks in one order"
		if free := c.Cycle.Cheapest; free.Owner >= 0 && free.Owner < len(owners) && free.Name != "" {
			e["cheapest"] = free.Lock.String()
			advice = "cheapest fix: stop " + describe.Quote(inspect.Untrusted(c.Cycle.Owners[free.Owner]).Cut(40)) + ", or release its lock (it keeps running): " +
				release(c, free.Lock, free.Name, free.Digest) + ". Then have all clients take these locks in one order"
		}
		return one(inspect.Finding{
			Confidence: recipe.Likely,
			Message:    fmt.Sprintf("deadlock over %s: %s wait for each other", describe.Count(len(ids), "lock"), strings.Join(cycle, " → ")),
			Evidence:   e, Subject: inspect.Subject{Locks: c.Cycle.Locks},
			Advice: advice,
		})
	})
}
