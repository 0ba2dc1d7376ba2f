package finding

import (
	"slices"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// tempered holds the findings of a rule to what is known of the lock. On what is only possibly a lock (a name, a value of no
// known shape) nothing is worse than worth knowing, and nothing is advised but to find out; rules that ordinary data would
// set off every day are silent there. Where something was not seen that the rule rests on, its findings are only possible,
// and no action is advised.
func tempered(c *inspect.Case, rule string, found []inspect.Finding) []inspect.Finding {
	switch l := c.Lock; {
	case len(found) == 0 || rule == "blind":
	case l.Confidence == recipe.Possible:
		if silentOnPossible(rule) {
			return nil
		}
		for i := range found {
			f := &found[i]
			f.Severity, f.Confidence = inspect.Info, recipe.Possible
			f.Advice = "this may not be a lock: find out which program writes it before you act"
		}
	case slices.ContainsFunc(restsOn(rule), l.Unknown):
		for i := range found {
			f := &found[i]
			f.Confidence = recipe.Possible
			f.Advice = "do nothing yet: part of the evidence could not be read (see blind); look again once it can be"
		}
	}
	return found
}

// silentOnPossible: what is written and read like this by registries, caches, counters and queues of jobs as well.
func silentOnPossible(rule string) bool {
	switch rule {
	case "deadlock", "herd", "alien-child", "renewal-stopped", "zombie-renewal", "starvation", "missing-watch", "stuck-holder":
		return true
	}
	return false
}

// restsOn are the aspects without which a rule may be wrong about a lock.
func restsOn(rule string) []inspect.Aspect {
	switch rule {
	case "deadlock", "self-wait", "stuck-holder", "semaphore-overcommit", "persistent-contender":
		return []inspect.Aspect{inspect.AspectHolders}
	case "split-quorum", "minority-leftover", "thin-margin", "master-restarted", "suspect-target":
		return []inspect.Aspect{inspect.AspectHolders, inspect.AspectVotes}
	case "ghost-owner":
		return []inspect.Aspect{inspect.AspectHolders, inspect.AspectSessions}
	case "missing-watch", "lost-wakeup", "herd":
		return []inspect.Aspect{inspect.AspectWatches}
	case "no-ttl", "renewal-stopped", "zombie-renewal":
		return []inspect.Aspect{inspect.AspectHolders, inspect.AspectExpiry}
	case "stale-fair-queue", "starvation":
		return []inspect.Aspect{inspect.AspectWaiters}
	case "mixed-recipes", "alien-child":
		return []inspect.Aspect{inspect.AspectKind}
	}
	return nil
}
