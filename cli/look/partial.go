package look

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

// partial returns a line for each backend with unseen parts that may hide a finding. A ZooKeeper
// server that is down may be the only one that knows of some clients, even if the others answer.
func partial(s *inspect.Snapshot) []string {
	hiding := make(map[string]int) // locks by backend
	for l := range s.Locks() {
		if slices.ContainsFunc(l.Unseen, hides) ||
			slices.ContainsFunc(l.Masters, func(m inspect.Vote) bool { return !m.Up }) {
			hiding[l.ID.Backend]++
		}
	}
	var lines []string
	for _, b := range s.Backends {
		if b.State == inspect.Down {
			continue // ExitOfStates reports it
		}
		var parts []string
		if app.Unseen(b) {
			parts = append(parts, "is "+string(b.State))
		}
		for _, server := range b.Servers {
			if render.Silent(&server) {
				parts = append(parts, "got no answer from "+inspect.Escape(server.Addr))
			}
		}
		if slices.ContainsFunc(b.Unseen, hides) {
			parts = append(parts, "was only partly read")
		}
		if n := hiding[b.Name]; n > 0 {
			parts = append(parts, "has "+describe.Count(n, "partly read lock"))
		}
		if parts != nil {
			lines = append(lines, fmt.Sprintf("backend %s %s", b.Name, strings.Join(parts, ", ")))
		}
	}
	return lines
}

// exitOfLocks returns the exit code of a look at locks; failed is their backends' exit code.
// The vote of a master that did not answer for the lock is unknown, even if the master answers
// otherwise.
func exitOfLocks(a *app.App, locks iter.Seq[*inspect.Lock], failed error) error {
	if failed != nil {
		return failed
	}
	hidden := make(map[string]int)
	for l := range locks {
		if slices.ContainsFunc(l.Masters, silentOn) {
			hidden[l.ID.Backend]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		failed = app.ExitError{Code: app.ExitUnreachable}
		a.Say("backend %s: a master did not answer for %s", name, describe.Count(hidden[name], "lock"))
	}
	return failed
}

// silentOn reports whether a master did not answer for a lock. A refusal is an answer, which doctor
// reports.
func silentOn(m inspect.Vote) bool {
	return !m.Up && !slices.ContainsFunc(m.Unseen, func(u inspect.Unseen) bool { return u.Right != "" })
}

// hides reports whether an unseen part may hide a finding. A single look shows no changes between
// two reads anyway.
func hides(u inspect.Unseen) bool { return u.Aspect != "changes" }

// exitOfPartial returns the exit code of an incomplete look. allowed accepts it, as long as every
// backend showed something.
func exitOfPartial(a *app.App, s *inspect.Snapshot, allowed bool) error {
	down := slices.DeleteFunc(slices.Clone(s.Backends),
		func(b *inspect.Backend) bool { return b.State != inspect.Down })
	failed := a.ExitOfStates(down)
	lines := partial(s)
	if len(lines) == 0 || allowed {
		return failed
	}
	a.Say("partial view: %s (see `unseen` and the blind findings; --allow-partial accepts it)",
		strings.Join(lines, "; "))
	return app.ExitError{Code: app.ExitUnreachable}
}
