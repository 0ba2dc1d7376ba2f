package describe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
)

// Aspect is the question that an unknown aspect leaves open.
func Aspect(a inspect.Aspect) string {
	questions := map[inspect.Aspect]string{
		inspect.AspectLocks:    "which locks exist",
		inspect.AspectKind:     "what kind of lock it is",
		inspect.AspectHolders:  "who holds it",
		inspect.AspectWaiters:  "who waits for it",
		inspect.AspectExpiry:   "when it expires",
		inspect.AspectVotes:    "the master's value",
		inspect.AspectWatches:  "who watches whom",
		inspect.AspectSessions: "which clients the sessions belong to",
		inspect.AspectOwner:    "how the owners identify themselves",
		inspect.AspectServer:   "the state of the server",
		inspect.AspectChanges:  "any change between two reads",
	}
	return cmp.Or(questions[a], Printable(string(a)))
}

// Reason describes a failed read and the missing right: "GET on 10.0.0.3:6379: NOPERM … (allow
// +get)".
func Reason(u inspect.Unseen) string {
	text := Printable(u.Read)
	if u.Where != "" {
		if text != "" {
			text += " on "
		}
		text += Printable(u.Where)
	}
	if text != "" {
		text += ": "
	}
	text += inspect.Untrusted(cmp.Or(u.Reason, "no answer")).Cut(240)
	if u.Right != "" {
		text += " (" + Allow(Printable(u.Right)) + ")"
	}
	return text
}

// Allow advises granting a right, or using a newer server.
func Allow(right string) string {
	if right == inspect.NewerRedis {
		return "use " + right
	}
	return "allow " + right
}

// Reasons lists why these aspects are unknown, each reason once; empty if all were seen.
func Reasons(list []inspect.Unseen, aspects ...inspect.Aspect) string {
	var parts []string
	for _, u := range list {
		if text := Reason(u); slices.Contains(aspects, u.Aspect) && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}
