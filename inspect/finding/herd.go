package finding

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// herdSize is the number of sessions on one node that makes a herd.
const herdSize = 10

// herd reports many sessions that watch one node of the lock although their recipe does not ask
// them to. Each change then wakes all of them, and only one gets the lock. Readers that wait for
// the same writer do not count.
//
// Cause in the wild: plain code that makes every client watch the holder or the lock itself (the
// ZooKeeper recipes page warns of it); one watcher a tick, never removed (PrettyZoo #308 drove an
// ensemble out of memory).
//
// A lone ephemeral node has no queue, so all its waiters must watch it.
func herd() rule {
	return rule{
		name: "herd", severity: inspect.Warning,
		means: "Ten or more sessions watch one node, although their library needs no such watch. Each change wakes all " +
			"of them.",
		sure:     "`evidence.sessions` lists them: what does their code watch?",
		do:       "Let each waiter watch only its predecessor, as Curator does.",
		not:      "Do not release the lock: that wakes all of them.",
		evidence: "node, watchers (how many), sessions",
		restsOn:  []inspect.Aspect{inspect.AspectWatches}, quiet: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		if c.Watches == nil || len(c.Watches.Sessions) == 0 || c.Lock.Recipe == "ephemeral" {
			return nil
		}
		l := c.Lock
		worst, node, name := herdOn(c, c.Watches.Sessions[l.ID.Path], ""), l.ID.Path, "the lock's directory"
		for one := range l.Contenders {
			at := l.Node(one)
			if on := herdOn(c, c.Watches.Sessions[at], one.Name); len(on) > len(worst) {
				worst, node, name = on, at, describe.BriefName(one.Name)
			}
		}
		if len(worst) < herdSize {
			return nil
		}
		slices.Sort(worst)
		ids := each.Of(worst[:min(len(worst), listed)], inspect.SessionID)
		return one(inspect.Finding{
			Confidence: recipe.Certain,
			Message: fmt.Sprintf("%d sessions watch %s: all of them wake up at once when it changes",
				len(worst), name),
			Subject: inspect.Subject{Node: inspect.Untrusted(node)},
			Evidence: evidence{
				"node": inspect.Escape(node), "watchers": len(worst), "sessions": ids,
				"cause": "clients that watch the holder instead of the contender before them",
			},
			Steps: do(configure("change the clients of these sessions: each waiter should watch only the " +
				"contender before it, as Curator does")),
		})
	})
}

// herdOn returns the watching sessions without a contender that waits for this node; nil if they
// are too few.
func herdOn(c *inspect.Case, watchers []int64, name inspect.Untrusted) []int64 {
	if len(watchers) < herdSize {
		return nil
	}
	sessions := make(map[int64]bool, len(watchers))
	for _, id := range watchers {
		sessions[id] = true
	}
	for i := range c.Lock.Waiters {
		if w := &c.Lock.Waiters[i]; name != "" && w.Watches == name {
			delete(sessions, w.Owner.Session)
		}
	}
	return slices.Collect(maps.Keys(sessions))
}
