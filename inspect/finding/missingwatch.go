package finding

import (
	"fmt"
	"slices"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// missingWatch reports a waiter that does not watch the contender ahead of it. Nothing wakes it up
// when that contender leaves, and all behind it wait, too. The server's own watch table, read
// between two looks at the same queue, shows this. The rule is silent about a client without a
// connection. It is also silent if nodes of an unknown library do not watch each other, since they
// are more likely a registry than a queue. Curator's deprecated InterProcessSemaphore writes the
// same nodes as its mutex and looks the same.
//
// Cause in the wild: CURATOR-527 and CURATOR-495 (a wake-up lost between reading and waiting), dolphinscheduler #2020;
// tutorials that call exists() on a predecessor that is gone and wait all the same.
func missingWatch() rule {
	return rule{
		name: "missing-watch", severity: inspect.Warning, sometimes: inspect.Info,
		means: "A waiter does not watch the contender ahead of it, so nothing will wake it or those behind it. The " +
			"finding is info if it may be about to set its watch, or may not be connected.",
		sure: "Look again after a second.",
		do:   "Restart that client, so that it queues again.",
		not:  "Do not remove its znode while it runs: some clients then believe that they hold the lock.",
		evidence: "contender, expected, instead (the one it watches), watches_gone (the node it watches), " +
			"blocked_below, right (needed to see whether it is connected)",
		restsOn: []inspect.Aspect{inspect.AspectWatches}, asOf: watchesRead, quiet: true,
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		lost, behind := lostEntry(c)
		if lost != nil && behind.Watch != inspect.Confirmed {
			lost = nil // none of its entries watches: each is named
		}
		// hive never watches: it deletes its node and tries again (ZooKeeperHiveLockManager.java)
		if registry(l) || l.Recipe == "hive" {
			return nil
		}
		var found []inspect.Finding
		for i := range l.Waiters {
			w := &l.Waiters[i]
			gone := watchesGone(c, w)
			if (w.Watch == inspect.Missing || gone) && w != lost && !away(c, w) && !nextToMember(l, w) &&
				len(found) < listed {
				found = append(found, unwatching(c, w, gone))
			}
		}
		return found
	})
}

// registry reports whether nodes of an unknown library are more likely a registry than a queue.
// They are if the servers confirmed none of their watches on each other.
func registry(l *inspect.Lock) bool {
	return l.Recipe == "sequential" && l.Confidence == recipe.Possible &&
		!slices.ContainsFunc(l.Waiters, func(w inspect.Contender) bool { return w.Watch == inspect.Confirmed })
}

// nextToMember reports whether a waiter of plain nodes follows a node with another name prefix, and
// its session has another entry. Some programs number their members and their candidates in one
// directory, and only the candidates wait, for each other.
func nextToMember(l *inspect.Lock, w *inspect.Contender) bool {
	return libraryOf(l, w) == "sequential" && l.Kind != inspect.KindRW && elsewhereToo(l, w) &&
		recipe.Word(w.Watches.Raw()) != recipe.Word(w.Name.Raw())
}

// watchesGone reports whether a waiter watches, instead of its predecessor, a node that was gone
// when the lock was read, well before the watch table. Some clients leave such a watch behind when
// they look again, and then watch the right one.
func watchesGone(c *inspect.Case, w *inspect.Contender) bool {
	if w.Watch == inspect.Missing || w.WatchesGone == "" {
		return w.WatchesGone != ""
	}
	return w.Watch != inspect.Confirmed && c.Watches != nil &&
		c.Watches.ReadAt.Sub(c.Lock.ReadAt) >= inspect.WatchSettle
}

// away reports whether a waiter's client has no connection, or may be about to reconnect. Its
// watches are gone until then. If it stays away, the end of its session removes the waiter.
func away(c *inspect.Case, w *inspect.Contender) bool {
	_, connected := c.Sessions[w.Owner.Session]
	return c.AllSessions && !connected || returning(c, w)
}

// unlisted reports whether the waiter's client may be disconnected because the servers did not list
// their connections. A disconnected client has no watches until it comes back. A client that
// watches anything, even a deleted node, is connected.
func unlisted(c *inspect.Case, w *inspect.Contender) bool {
	_, connected := c.Sessions[w.Owner.Session]
	return !connected && !c.AllSessions && w.WatchesGone == "" && w.Owner.Session != 0
}

// listRight returns the right without which a server does not list its connections. A server asked
// only by four-letter words does not name it.
func listRight(b *inspect.Backend) string {
	if b != nil {
		for _, u := range b.Unseen {
			if u.Aspect == inspect.AspectSessions && u.Right != "" {
				return inspect.Escape(u.Right)
			}
		}
	}
	return "cons in 4lw.commands.whitelist, or the AdminServer in the target"
}

// unheard reports whether the server may have heard nothing from a waiter's client since it queued.
// The request that sets its watch may still be on a stalled link. If the last contact is unknown,
// that is possible for as long as a silent session lasts.
func unheard(c *inspect.Case, w *inspect.Contender) bool {
	s, connected := c.Sessions[w.Owner.Session]
	switch {
	case !connected || w.Since.IsZero() || !c.Backend.Dates(w.Czxid):
		return false
	case s.LastContact.IsZero():
		return backendNow(c).Sub(w.Since) < s.Timeout
	}
	return s.LastContact.Before(w.Since.Add(-c.Offset).Add(inspect.WatchSettle))
}

func unwatching(c *inspect.Case, w *inspect.Contender, gone bool) inspect.Finding {
	l, e := c.Lock, about(w)
	e["expected"], e["blocked_below"] = w.Watches.String(), int(w.BlockedBelow)
	e["cause"] = "a wake-up lost between check and wait (CURATOR-527), or a client that ignores the reply"
	confidence := recipe.Certain
	if l.Confidence != recipe.Certain || w.Watch != inspect.Missing {
		confidence = recipe.Likely
	}
	message := fmt.Sprintf("%s does not watch %s, which it waits for: nothing will wake it up",
		describe.BriefOwner(w), describe.BriefName(w.Watches))
	if other := instead(c, w); other != "" {
		e["instead"] = other.String()
		message = fmt.Sprintf("%s watches %s and not %s, which it waits for: it will not learn when that one leaves",
			describe.BriefOwner(w), describe.BriefName(other), describe.BriefName(w.Watches))
	}
	if gone {
		e["watches_gone"] = w.WatchesGone.String()
		message = fmt.Sprintf("%s watches only %s, which is gone: nothing will wake it up",
			describe.BriefOwner(w), describe.BriefName(w.WatchesGone))
	}
	switch {
	case unlisted(c, w):
		right := listRight(c.Backend)
		e["right"] = right
		return inspect.Finding{
			Severity: inspect.Info, Confidence: recipe.Possible,
			Message:  fmt.Sprintf("%s does not watch %s, or is not connected: the servers do not say which", describe.BriefOwner(w), describe.BriefName(w.Watches)),
			Evidence: e, Subject: w.Subject(),
			Steps: do(configure("let the servers report their connections (" + right + ") and look again")),
		}
	case unheard(c, w):
		return inspect.Finding{
			Severity: inspect.Info, Confidence: recipe.Possible,
			Message: fmt.Sprintf("%s does not watch %s, which it waits for, and may not have been heard from since it "+
				"queued: it may still set the watch", describe.BriefOwner(w), describe.BriefName(w.Watches)),
			Evidence: e, Subject: w.Subject(),
			Steps: do(wait("look again once its client has been heard from: " +
				"a session that stays silent ends at its timeout")),
		}
	}
	if w.BlockedBelow > 0 {
		message += fmt.Sprintf("; %d behind it", w.BlockedBelow)
	}
	return inspect.Finding{
		Confidence: confidence,
		Message:    message,
		Evidence:   e, Subject: w.Subject(),
		Steps: do(restart("restart that client so that it queues again; do not remove its znode while it runs: " +
			"some clients then believe that they hold the lock")),
	}
}

// instead returns a contender that a waiter's session watches although no entry of that session
// waits for it; empty if none.
func instead(c *inspect.Case, w *inspect.Contender) inspect.Untrusted {
	if c.Watches == nil || w.Owner.Session == 0 {
		return ""
	}
	l := c.Lock
	awaited := map[inspect.Untrusted]bool{}
	for i := range l.Waiters {
		if o := &l.Waiters[i]; o.Owner.Session == w.Owner.Session {
			awaited[o.Watches] = true
		}
	}
	for o := range l.Contenders {
		if !awaited[o.Name] && slices.Contains(c.Watches.Sessions[l.Node(o)], w.Owner.Session) {
			return o.Name
		}
	}
	return ""
}
