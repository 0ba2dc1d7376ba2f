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
		name: "deadlock", severity: inspect.Critical, sometimes: inspect.Warning,
		means:    "owners wait for each other in a circle; a warning where it is only possible that a ZooKeeper session and a Redis client are one program",
		evidence: "locks (ids), owners (each waits for the next, the last for the first), contender (the holder of this lock), cheapest (the lock whose end of a hold costs the least: the same on all of the circle's locks), ties (over ZooKeeper and Redis: owner, session, client, by and certainty of what makes these two one)",
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
		f := inspect.Finding{
			Confidence: c.Cycle.Certainty(),
			Message:    fmt.Sprintf("deadlock over %s: %s wait for each other", describe.Count(len(ids), "lock"), strings.Join(cycle, " → ")),
			Evidence:   e, Subject: inspect.Subject{Locks: c.Cycle.Locks},
			Advice: advice,
		}
		if len(c.Cycle.Ties) > 0 {
			e["ties"] = tiesOf(c.Cycle)
		}
		if f.Confidence == recipe.Possible {
			f.Severity = inspect.Warning
			f.Message = fmt.Sprintf("deadlock over %s, possibly: %s wait for each other", describe.Count(len(ids), "lock"), strings.Join(cycle, " → "))
			f.Advice = "first make sure that each of these is one program (evidence: ties): only then they wait for each other. Then " + advice
		}
		return one(f)
	})
}

// tiesOf are the reasons to take a session and a client of Redis for one owner.
func tiesOf(c *inspect.Cycle) []evidence {
	list := make([]evidence, len(c.Ties))
	for i, t := range c.Ties {
		list[i] = evidence{
			"owner": inspect.Escape(c.Owners[t.Owner]), "session": inspect.SessionID(t.Session), "client": t.Client.String(),
			"by": t.By, "certainty": string(t.Certainty),
		}
	}
	return list
}
