package finding

import (
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// lostWakeUp reports a contender that watches a deleted node before it. Such a watch never fires,
// because an exists request set it after the node was gone. A client that ignores the answer waits
// forever, even when its turn has come, and all behind it wait too. ZooKeeper's own WriteLock is
// such a client (3.8.0, WriteLock.java). If exists finds nothing, WriteLock reports that it does
// not have the lock, and never looks again. For the first in line of plain nodes the finding is
// only possible, since a client that does check leaves the same watch behind. A waiter that had
// checked would watch the one before it.
func lostWakeUp() rule {
	return rule{
		name: "lost-wakeup", severity: inspect.Warning, sometimes: inspect.Info,
		means: "A contender watches a node that is gone, or one behind it, so it may miss its turn. The finding " +
			"is info if its library may have checked again.",
		sure:     "Is the client working under the lock, or still waiting?",
		do:       "If it hangs, restart it.",
		not:      "Do not remove its znode while it runs.",
		evidence: "contender, watches_gone, or instead (the waiter that it watches), blocked_below",
		restsOn:  []inspect.Aspect{inspect.AspectWatches}, asOf: watchesRead,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if len(l.Holders) == 0 || c.Watches == nil {
			return nil
		}
		found := lostHold(c, &l.Holders[0])
		for i := range l.Waiters {
			w := &l.Waiters[i]
			if len(found) == listed || !watchesGone(c, w) || !w.Follows(w.WatchesGone) {
				continue
			}
			if !away(c, w) && !elsewhereToo(l, w) {
				found = append(found, lostPlace(w))
			}
		}
		return found
	})
}

// mayNotKnow reports whether a holder may still wait for its turn.
func mayNotKnow(c *inspect.Case, h *inspect.Contender) bool {
	return c.Watches != nil && h == &c.Lock.Holders[0] && len(lostHold(c, h)) > 0
}

// lostHold lists the findings about the first in line.
func lostHold(c *inspect.Case, h *inspect.Contender) []inspect.Finding {
	return append(lostTurn(c, h), facingBack(c, h)...)
}

// lostTurn is the finding about the first in line if it watches a deleted node.
func lostTurn(c *inspect.Case, h *inspect.Contender) []inspect.Finding {
	l := c.Lock
	watches := h.WatchesGone != "" && h.Follows(h.WatchesGone)
	if !watches || away(c, h) || elsewhereToo(l, h) {
		return nil
	}
	f := lostWatch(h)
	f.Message = firstWatches(h, "watches "+describe.BriefName(h.WatchesGone)+", which is gone")
	f.Steps = do(restart(restartWaiting))
	if l.Recipe != "zookeeper-recipes" {
		f.Severity, f.Confidence = inspect.Info, recipe.Possible
	}
	if h.BlockedBelow > 0 {
		f.Message += fmt.Sprintf("; %d behind it", h.BlockedBelow)
	}
	return one(f)
}

// facingBack is the finding about the first in line if it still watches a waiter behind it. In
// kazoo #649, a reader and a writer wait for each other. Elections are exempt, since a leader may
// watch its followers.
func facingBack(c *inspect.Case, h *inspect.Contender) []inspect.Finding {
	l := c.Lock
	if l.Kind == inspect.KindElection || l.Confidence == recipe.Possible || away(c, h) || elsewhereToo(l, h) {
		return nil
	}
	i := slices.IndexFunc(l.Waiters, func(w inspect.Contender) bool {
		return h.Owner.Session != 0 && slices.Contains(c.Watches.Sessions[l.Node(&w)], h.Owner.Session)
	})
	if i < 0 {
		return nil
	}
	e := about(h)
	e["instead"], e["blocked_below"] = l.Waiters[i].Name.String(), int(h.BlockedBelow)
	e["cause"] = "the two may be waiting for each other (kazoo #649)"
	return one(inspect.Finding{
		Severity: inspect.Info, Confidence: recipe.Possible, Evidence: e, Subject: h.Subject(),
		Message: firstWatches(h, "still watches "+describe.BriefName(l.Waiters[i].Name)+" behind it"),
		Steps:   do(restart(restartWaiting)),
	})
}

const restartWaiting = "check whether that client is working under the lock; restart it if it is waiting or hangs"

// firstWatches is the message about the first in line if it still watches something.
func firstWatches(h *inspect.Contender, what string) string {
	return fmt.Sprintf("%s may not know that it holds the lock: it %s", describe.BriefOwner(h), what)
}

// lostPlace is the finding about a waiter.
func lostPlace(w *inspect.Contender) inspect.Finding {
	f := lostWatch(w)
	f.Message = fmt.Sprintf("%s watches %s, which is gone, and not %s: it will not know when its turn comes",
		describe.BriefOwner(w), describe.BriefName(w.WatchesGone), describe.BriefName(w.Watches))
	f.Steps = do(restart("restart that client so that it queues again"))
	return f
}

func lostWatch(who *inspect.Contender) inspect.Finding {
	e := about(who)
	e["watches_gone"], e["blocked_below"] = who.WatchesGone.String(), int(who.BlockedBelow)
	e["cause"] = "its predecessor left between two of its requests, and it ignores the second reply"
	return inspect.Finding{Confidence: recipe.Likely, Evidence: e, Subject: who.Subject()}
}

// elsewhereToo reports whether a contender's session has another contender in the lock, which may
// own the watch.
func elsewhereToo(l *inspect.Lock, c *inspect.Contender) bool {
	return each.Any(l.Contenders,
		func(o *inspect.Contender) bool { return o.Owner.Session == c.Owner.Session && o.Name != c.Name })
}
