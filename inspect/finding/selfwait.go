package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// selfWait reports a client that waits for a lock that it holds itself. That is normal for a while,
// since the threads of one client share its session, so the finding is info. A continuous watch
// reports it after a few seconds, and as a warning after StuckAfter. On a semaphore the client must
// hold every lease.
//
// It also reports a waiter behind an entry of its own session, if that entry does not watch its
// predecessor. No thread waits for that entry's turn. When its turn comes, the lock stays with it
// until the session ends (a warning). A session may have leaked several entries.
//
// It is silent about a registry, such as members or block numbers, which has no waiters.
//
// Cause in the wild: a lost reply to create leaves an orphan that the same client then queues
// behind (samuel/go-zookeeper #229); a client that takes a non-re-entrant lock twice (kazoo blocks
// forever).
func selfWait() rule {
	return rule{
		name: "self-wait", severity: inspect.Info, sometimes: inspect.Warning,
		means: "A client waits for itself. The finding is a warning after `--stuck-after`, or if it waits behind " +
			"an entry that it has lost.",
		sure:     "Is a thread of the client working under the lock?",
		do:       "Wait. If it lasts, restart the client: its entries end with its session.",
		not:      "Do not release the holder while a thread is working under the lock.",
		evidence: "contender (the waiter), holder or behind (its own other entry)",
		restsOn:  []inspect.Aspect{inspect.AspectHolders}, asOf: watchesRead,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if len(l.Holders) == 0 || len(l.Waiters) == 0 || registry(l) {
			return nil
		}
		if lost, behind := lostEntry(c); lost != nil {
			return one(waitingBehindItself(lost, behind))
		}
		for i := range l.Holders {
			h := &l.Holders[i]
			if l.Kind == inspect.KindSemaphore && !allOf(l, h) {
				return nil
			}
			for j := range l.Waiters {
				w := &l.Waiters[j]
				if w.State == inspect.Waiting && !w.Dead && sameClient(h, w) && sameQueue(l, h, w) &&
					!(h.Mode == recipe.Shared && w.Mode == recipe.Shared) && lasting(c, h, w) {
					return one(waitingForItself(c, h, w))
				}
			}
			if i == listed {
				break // only readers or leases are so numerous
			}
		}
		return nil
	})
}

// lostEntry finds a waiter that does not watch its predecessor, and an entry of the same client
// behind it, preferably one that watches. If none of them does, each may be lost, unless its client
// may be disconnected.
func lostEntry(c *inspect.Case) (lost, behind *inspect.Contender) {
	l := c.Lock
	if c.WatchesAre != inspect.TableOfNow {
		return nil, nil
	}
	for i := range l.Waiters {
		w := &l.Waiters[i]
		if w.Watch != inspect.Missing || away(c, w) {
			continue
		}
		for j := i + 1; j < len(l.Waiters); j++ {
			b := &l.Waiters[j]
			if !sameClient(w, b) || b.Mode != w.Mode || !sameQueue(l, w, b) {
				continue
			}
			if b.Watch == inspect.Confirmed {
				return w, b
			}
			if lost == nil && b.Watch == inspect.Missing && !unlisted(c, w) {
				lost, behind = w, b
			}
		}
	}
	return lost, behind
}

func waitingBehindItself(lost, behind *inspect.Contender) inspect.Finding {
	e := about(behind)
	e["behind"] = lost.Name.String()
	e["cause"] = "an entry left behind by a lost reply to create (samuel/go-zookeeper #229)"
	return inspect.Finding{
		Severity: inspect.Warning, Confidence: recipe.Likely,
		Message:  fmt.Sprintf("%s waits behind its own %s, which no thread waits for: when its turn comes, it keeps the lock", describe.BriefOwner(behind), describe.BriefName(lost.Name)),
		Evidence: e, Subject: behind.Subject(),
		Steps: do(restart("restart that client before its turn comes: the end of its session removes both")),
	}
}

// settled is how long a client must wait for itself before that is reported, since its threads
// take turns.
const settled = 5 * time.Second

// lasting reports whether a client has waited for itself for a while. A single look cannot show it.
func lasting(c *inspect.Case, h, w *inspect.Contender) bool {
	return c.History == nil || c.Now.Sub(h.Seen) > settled && c.Now.Sub(w.Seen) > settled
}

func waitingForItself(c *inspect.Case, h, w *inspect.Contender) inspect.Finding {
	e := about(w)
	e["holder"] = h.Name.String()
	e["cause"] = "an entry left behind by a lost reply (samuel/go-zookeeper #229), or a client that takes a " +
		"non-re-entrant lock twice"
	f := inspect.Finding{
		Confidence: recipe.Possible,
		Message: fmt.Sprintf("%s waits for itself: it holds as %s and waits as %s",
			describe.BriefOwner(w), describe.BriefName(h.Name), describe.BriefName(w.Name)),
		Evidence: e, Subject: w.Subject(),
		Steps: do(wait("wait: threads of one client share its session. " +
			"If it lasts, see what that client's threads do")),
	}
	since, by := w.Since, w
	if h.HeldSince.After(since) {
		since, by = h.HeldSince, h
	}
	if lasted := pastFor(c, by, since); !since.IsZero() && lasted > stuckAfter(c) {
		f.Severity, f.Confidence = inspect.Warning, recipe.Likely
		f.Message = fmt.Sprintf("%s has waited for itself for over %s: it holds as %s",
			describe.BriefOwner(w), describe.Over(lasted), describe.BriefName(h.Name))
		f.Steps = do(restart("restart that client"), releaseOf(c, "if none of its threads is working under the lock", h))
	}
	return f
}

// sameClient reports whether both belong to one client: one session, or one thread of one library
// instance. Different labels in one session are different owners, such as threads that share it.
func sameClient(a, b *inspect.Contender) bool {
	x, y := &a.Owner, &b.Owner
	if x.Session != 0 || y.Session != 0 {
		threads := x.Label != "" && y.Label != "" && x.Label != y.Label
		return x.Session == y.Session && !threads
	}
	return x.LibraryID != "" && x.Thread != "" && x.LibraryID == y.LibraryID && x.Thread == y.Thread
}

// sameQueue reports whether two entries may wait for each other. A client's member node, which has
// another name prefix than its candidate, waits for nothing.
func sameQueue(l *inspect.Lock, a, b *inspect.Contender) bool {
	plain := libraryOf(l, a) == "sequential" && l.Kind != inspect.KindRW
	return !plain || recipe.Word(a.Name.Raw()) == recipe.Word(b.Name.Raw())
}

// allOf reports whether one client holds every lease.
func allOf(l *inspect.Lock, h *inspect.Contender) bool {
	return !slices.ContainsFunc(l.Holders, func(o inspect.Contender) bool { return !sameClient(h, &o) })
}
