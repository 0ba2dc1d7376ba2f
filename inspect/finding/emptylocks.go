package finding

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// manyEmpty is the smallest number of empty directories that is worth reporting. Every recipe
// leaves a lock's directory behind, so a few empty ones are normal.
const manyEmpty = 100

// emptyLocks reports directories that once had children and now have none. Locks named after what
// they protect leave them behind. Each stays in every server's memory and snapshots, and makes
// walks over the tree longer.
//
// Cause in the wild: curator#307, kazoo#563 (directories of locks are never removed). Container
// znodes (Curator from 3.0 on, with servers from 3.5.3 on) are removed automatically.
func emptyLocks() rule {
	return rule{
		name: "empty-locks", severity: inspect.Info,
		means:    "Many lock directories are empty and unused. They take memory and slow down scans.",
		sure:     "`sweep --dry-run` lists those that have been idle for a day.",
		do:       "Sweep the idle ones. Use container znodes for new ones.",
		not:      "Do not delete them by hand: a client may be using one.",
		evidence: "count, oldest, under (the directory with the most of them) and under_count",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		e := b.Empty
		if e.Count < manyEmpty {
			return nil
		}
		under := inspect.ID{Backend: b.Name, Path: e.Under}
		found := evidence{
			"count": e.Count, "under": under.String(), "under_count": e.UnderCount,
			"cause": "a lock's directory stays when its last contender leaves; directories made for each " +
				"order, user or file add up",
		}
		message := fmt.Sprintf("%d directories are empty but once had children, %d of them under %s",
			e.Count, e.UnderCount, inspect.Untrusted(e.Under).Cut(60))
		if !e.Oldest.IsZero() {
			found["oldest"] = stamp(e.Oldest)
		}
		return one(inspect.Finding{
			Confidence: recipe.Certain, Message: message, Evidence: found,
			Steps: do(by(inspect.Step{
				Verb: inspect.VerbSweep, Lock: under,
				Why: "see which of them have been idle for a day",
			},
				describe.Lockscope("sweep", under, b.Reach.Target, "--idle 24h --max 1000 --dry-run"))),
		})
	})
}
