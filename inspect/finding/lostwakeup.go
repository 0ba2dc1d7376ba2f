package finding

import (
	"fmt"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
)

// lostWakeUp: the first in line watches a node before it that is gone. Such a watch never fires: it was set by asking whether
// the node exists, when it did so no more. A client that does not look at the answer waits for it for ever, although its
// turn has come, and all behind it wait with it. ZooKeeper's own WriteLock is such a client (ZooKeeper 3.8.0, WriteLock.java:
// where exists answers nothing it says that it has not got the lock, and looks no more); of plain nodes it is only possible,
// since a client that does look leaves the same watch behind. A waiter's is missing-watch.
func lostWakeUp() rule {
	return rule{
		name: "lost-wakeup", severity: inspect.Warning, sometimes: inspect.Info,
		means:    "the first in line watches a node that is gone (info where its library may have looked again)",
		evidence: "contender, watches_gone, blocked_below",
		do:       "see what it does; restart it",
		restsOn:  []inspect.Aspect{inspect.AspectWatches}, asOf: watchesRead,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if len(l.Holders) == 0 || c.Watches == nil {
			return nil
		}
		h := &l.Holders[0]
		if h.WatchesGone() == "" || !before(h.WatchesGone(), h) || away(c, h) || elsewhereToo(l, h) {
			return nil
		}
		e := about(h)
		e["watches_gone"], e["blocked_below"] = h.WatchesGone().String(), int(h.BlockedBelow)
		e["cause"] = "its predecessor went between two of its requests, and it does not look at the answer of the second"
		f := inspect.Finding{
			Confidence: recipe.Likely,
			Message:    fmt.Sprintf("%s is first in line and watches %s, which is gone: it may not know that its turn has come", describe.BriefOwner(h), describe.BriefName(h.WatchesGone())),
			Evidence:   e,
			Advice:     "see whether that client works under the lock; if it waits, restart it, so that it queues again",
		}
		if l.Recipe != "zookeeper-recipes" {
			f.Severity, f.Confidence = inspect.Info, recipe.Possible
		}
		if h.BlockedBelow > 0 {
			f.Message += fmt.Sprintf("; %d behind it", h.BlockedBelow)
		}
		return one(f)
	})
}

// before reports whether a node that is gone stood before a contender, by the server's numbers.
func before(gone inspect.Untrusted, c *inspect.Contender) bool {
	_, number, ok := recipe.SplitSequence(gone.Raw())
	return ok && c.Sequential && number-c.Sequence < 0
}

// elsewhereToo reports whether a contender's session has another one in the lock, whose watch it may be.
func elsewhereToo(l *inspect.Lock, c *inspect.Contender) bool {
	for _, list := range [2][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			if o := &list[i]; o.Owner.Session == c.Owner.Session && o.Name != c.Name {
				return true
			}
		}
	}
	return false
}
