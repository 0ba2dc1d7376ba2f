package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// mixedRecipes reports contenders in one directory whose libraries order them differently, so that
// two of them hold the lock at once. Exclusive contenders of Curator and go-zookeeper read each
// other's names and are left alone.
//
// Watches outrank names, since a client may know the other names (kazoo's extra_lock_patterns). The
// rule is silent if the watch table shows that each contender behind another library's contender
// watches it. If one of them does not, the finding is critical. If that is unknown, the finding is
// info and only possible. It is also only possible for names of plain sequential nodes, which any
// client may have written.
//
// Cause in the wild: kazoo ignores names with -lock- unless extra_lock_patterns says otherwise
// (kazoo 2.7.1), so kazoo together with go-zookeeper or Curator gives two holders. go-zookeeper
// counts Curator's and kazoo's read locks as exclusive. Libraries also disagree on the order once
// numbers wrap (kazoo #730).
func mixedRecipes() rule {
	return rule{
		name: "mixed-recipes", severity: inspect.Critical, sometimes: inspect.Info,
		means: "Libraries that order contenders differently share a directory, so two contenders may hold the " +
			"lock at once. The finding is info if no watch shows whether they queue together.",
		sure: "`show` lists each contender's library and watch. A contender that watches another library's " +
			"entry is in one queue with it.",
		do:       "Stop the clients of all libraries but one, or give each library its own path.",
		not:      "Do not just release a holder: the next client causes it again.",
		evidence: "libraries (name to number of contenders), heads (the first contender of each)",
		restsOn:  []inspect.Aspect{inspect.AspectKind},
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		l := c.Lock
		if !mixed(l) {
			return nil
		}
		apart, known := queueApart(c)
		if known && !apart {
			return nil
		}
		counts, heads := map[string]int{}, map[string]string{}
		shared := false
		for one := range l.Contenders {
			library := libraryOf(l, one)
			if counts[library] == 0 {
				heads[library] = one.Name.String()
			}
			counts[library]++
			shared = shared || one.Mode == recipe.Shared
		}
		libraries := slices.Sorted(maps.Keys(counts))
		if !shared && len(libraries) == 2 && counts["curator"] > 0 && counts["go-zookeeper"] > 0 {
			return nil
		}
		confidence := recipe.Likely
		if counts["sequential"] > 0 {
			confidence = recipe.Possible
		}
		severity, message := inspect.Critical, "%s cannot queue together: "+
			"the first client of each may hold the lock at the same time"
		if !apart {
			severity, confidence = inspect.Info, recipe.Possible
			message = "no watch shows that %s queue together: the first client of each may hold the lock"
		}
		steps := do(configure("stop the clients of all libraries but one, or give each its own path"))
		if counts["kazoo"] > 0 {
			steps = append(steps, configure(`kazoo can be made to accept other names: extra_lock_patterns=["-lock-"]`))
		}
		return one(inspect.Finding{
			Severity: severity, Confidence: confidence,
			Message:  fmt.Sprintf(message, strings.Join(libraries, " and ")),
			Evidence: evidence{"libraries": counts, "heads": heads, "cause": mixedCause(counts)},
			Steps:    steps,
		})
	})
}

func mixed(l *inspect.Lock) bool {
	for c := range l.Contenders { // without closures: it runs often
		if libraryOf(l, c) != l.Recipe {
			return true
		}
	}
	return false
}

// queueApart reports whether a waiter behind another library's contender does not watch it, by the
// watch table. It is known if there is such a waiter and the table covers all of them.
func queueApart(c *inspect.Case) (apart, known bool) {
	l := c.Lock
	library := make(map[inspect.Untrusted]string, l.Contention())
	known = true
	for i := range l.Holders {
		h := &l.Holders[i]
		library[h.Name] = libraryOf(l, h)
		known = known && library[h.Name] == libraryOf(l, &l.Holders[0]) // holders have no watch to show
	}
	for i := range l.Waiters {
		w := &l.Waiters[i]
		library[w.Name] = libraryOf(l, w)
		switch before, found := library[w.Watches]; {
		case found && before == library[w.Name]:
		case w.Watch == inspect.Missing && c.WatchesAre != inspect.TableVoid && !away(c, w):
			apart = true
		case w.Watch != inspect.Confirmed:
			known = false
		}
	}
	return apart, apart || known
}

func mixedCause(counts map[string]int) string {
	switch {
	case counts["kazoo"] > 0:
		return "kazoo counts only its own names as contenders"
	case counts["go-zookeeper"] > 0:
		return "go-zookeeper treats read locks of others as exclusive, and fails on names that it cannot parse"
	default:
		return "each library orders only the names that it creates itself"
	}
}
