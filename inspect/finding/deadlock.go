package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// deadlock reports owners that wait for each other in a cycle, so that none of them can proceed.
// Each lock of the cycle has the finding, and none has changed hands for a second.
//
// The cycle is at most likely. Rules tell owners apart by session or process, or by thread where
// the library names it. If one session's entries have several labels, the label counts, too. Other
// threads that share a session may each wait for something else, so the cycle is only possible
// then. It is also only possible in a single look, during which the locks may change hands.
//
// Cause in the wild: the same locks taken in different orders; a reader that asks for the write
// lock (Curator's read-write lock never grants it); Redisson #755 asks for a tool that shows the
// cycle.
func deadlock() rule {
	return rule{
		name: "deadlock", severity: inspect.Critical, sometimes: inspect.Info,
		means: "Owners wait for each other in a cycle, and none of its locks has changed hands for a second. The " +
			"finding is info in a single read, or if several threads may share one session. It is a warning if a " +
			"ZooKeeper session and a Redis client may belong to different programs.",
		sure: "Look again: are the same owners still waiting? jstack or py-spy shows what their threads are waiting for.",
		do:   "Stop a client, or release the cheapest lock. Then make all clients take these locks in the same order.",
		not:  "Do not release more than one lock: each released holder keeps running.",
		evidence: "locks, owners (each waits for the next), contender (this lock's holder), cheapest (lock to release), " +
			"ties (why a session and a Redis client count as one program)",
		restsOn: []inspect.Aspect{inspect.AspectHolders}, quiet: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		if c.Cycle == nil || len(c.Cycle.Locks) == 0 {
			return nil
		}
		ids, owners := each.Of(c.Cycle.Locks, inspect.ID.String), each.Of(c.Cycle.Owners, inspect.Escape)
		e := evidence{"locks": ids, "owners": owners, "cause": "the same locks are taken in different orders"}
		if len(c.Lock.Holders) > 0 {
			e["contender"] = c.Lock.Holders[0].Name.String()
		}
		if c.Cycle.Cheapest.Name != "" {
			e["cheapest"] = c.Cycle.Cheapest.Lock.String()
		}
		if len(c.Cycle.Ties) > 0 {
			e["ties"] = tiesOf(c.Cycle)
		}
		f := inspect.Finding{
			Confidence: c.Cycle.Certainty(), Evidence: e,
			Subject: inspect.Subject{Locks: c.Cycle.Locks},
		}
		possibly := ""
		switch {
		case c.Cycle.OneLook:
			f.Severity, f.Confidence, possibly = inspect.Info, recipe.Possible, ", possibly"
			f.Steps = do(wait("look again to see whether it lasts: lockscope doctor looks twice"))
		case c.Cycle.Shared:
			f.Severity, f.Confidence, possibly = inspect.Info, recipe.Possible, ", possibly"
			f.Steps = do(wait("find out whether each of these clients is one thread: see whether the locks still change hands, and "+
				"what the threads are doing (jstack, py-spy)"), configure("give threads their own labels to tell them apart"))
		case f.Confidence == recipe.Possible:
			f.Severity, possibly = inspect.Warning, ", possibly"
			f.Steps = append(do(wait("first make sure that each of these is one program (evidence: ties): only then do they wait for each other")),
				breakCircle(c)...)
		default:
			f.Steps = breakCircle(c)
		}
		f.Message = fmt.Sprintf("deadlock across %s%s: %s wait for each other",
			describe.Count(len(ids), "lock"), possibly, circle(c.Cycle))
		return one(f)
	})
}

// circle lists the first owners of a cycle, ending with the first one again.
func circle(c *inspect.Cycle) string {
	names := namesIn(c)
	if len(names) > 4 {
		names = append(names[:3], "…")
	}
	if len(names) > 0 {
		names = append(names, names[0])
	}
	return strings.Join(names, " → ")
}

// namesIn are the names of a cycle's owners, with addresses only if nothing else tells them apart.
func namesIn(c *inspect.Cycle) []string {
	names := c.Labels
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(c.Owners) {
		names = c.Owners
	}
	return each.Of(names, func(name string) string { return inspect.Untrusted(name).Cut(40) })
}

// breakCircle advises ending the hold that costs the least.
func breakCircle(c *inspect.Case) []inspect.Step {
	free := c.Cycle.Cheapest
	if free.Owner < 0 || free.Owner >= len(c.Cycle.Owners) || free.Name == "" {
		return do(restart("stop one of these clients, then make all of them take these locks in the same order"))
	}
	why := "cheapest fix: stop " + describe.Quote(namesIn(c.Cycle)[free.Owner]) +
		", or release its lock (its client keeps running)"
	return do(release(c, why, free.Lock, cmp.Or(inspect.Untrusted(free.Digest), free.Name)),
		configure("then make all clients take these locks in the same order"))
}

// tiesOf are the reasons to treat a session and a Redis client as one owner.
func tiesOf(c *inspect.Cycle) []evidence {
	list := make([]evidence, len(c.Ties))
	for i, t := range c.Ties {
		list[i] = evidence{
			"owner": inspect.Escape(c.Owners[t.Owner]), "session": inspect.SessionID(t.Session),
			"client": t.Client.String(),
			"by":     t.By, "certainty": string(t.Certainty),
		}
	}
	return list
}
