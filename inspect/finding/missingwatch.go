package finding

import (
	"fmt"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
)

// missingWatch: a waiter does not watch the contender that it waits for, so nothing wakes it up when that leaves, and all
// behind it wait with it. The server's own watch table says so, between two looks at the same queue. Nodes of no known
// library none of which watches another are a registry rather than a queue: silent.
//
// Cause in the wild: CURATOR-527 and CURATOR-495 (a wake-up lost between reading and waiting), dolphinscheduler #2020;
// tutorials that call exists() on a predecessor that is gone and wait all the same.
//
// Evidence: contender, owner, session, client, since; expected (whom it should watch); blocked_below. One finding for each
// such waiter, at most 10.
func missingWatch() inspect.Rule {
	return lockRule("missing-watch", inspect.Warning, func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		missing, confirmed := 0, false
		for i := range l.Waiters {
			switch l.Waiters[i].Watch {
			case inspect.Missing:
				missing++
			case inspect.Confirmed:
				confirmed = true
			}
		}
		if missing == 0 || !confirmed && l.Recipe == "sequential" && l.Confidence == recipe.Possible {
			return nil
		}
		found := make([]inspect.Finding, 0, min(missing, listed))
		for i := range l.Waiters {
			w := &l.Waiters[i]
			if w.Watch == inspect.Missing && len(found) < listed {
				found = append(found, unwatching(l, w))
			}
		}
		return found
	})
}

func unwatching(l *inspect.Lock, w *inspect.Contender) inspect.Finding {
	e := about(w)
	e["expected"], e["blocked_below"] = w.Watches.String(), w.BlockedBelow
	e["cause"] = "a wake-up that was lost between looking and waiting (CURATOR-527), or a client that does not look at the answer"
	confidence := recipe.Certain
	if l.Confidence != recipe.Certain {
		confidence = recipe.Likely
	}
	message := fmt.Sprintf("%s does not watch %s, whom it waits for: nothing will wake it up", describe.BriefOwner(w), describe.BriefName(w.Watches))
	if w.BlockedBelow > 0 {
		message += fmt.Sprintf("; %d behind it", w.BlockedBelow)
	}
	return inspect.Finding{
		Confidence: confidence,
		Message:    message,
		Evidence:   e,
		Advice:     "restart that client, so that it queues again; do not remove its znode while it runs, some clients then believe that they hold the lock",
	}
}
