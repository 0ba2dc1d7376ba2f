package describe

import (
	"slices"
	"strings"

	"lockscope/inspect"
)

// Aspect is the question that is open where an aspect is unknown.
func Aspect(a inspect.Aspect) string {
	switch a {
	case inspect.AspectLocks:
		return "which locks there are"
	case inspect.AspectKind:
		return "what kind of lock it is"
	case inspect.AspectHolders:
		return "who holds it"
	case inspect.AspectWaiters:
		return "who waits for it"
	case inspect.AspectExpiry:
		return "when it expires"
	case inspect.AspectVotes:
		return "what it holds under this key"
	case inspect.AspectWatches:
		return "who watches whom"
	case inspect.AspectSessions:
		return "which clients the sessions belong to"
	case inspect.AspectOwner:
		return "how the owners identify themselves"
	case inspect.AspectServer:
		return "the state of the server"
	case inspect.AspectChanges:
		return "what happens between two reads"
	default:
		return Printable(string(a))
	}
}

// Reason words a failed read and the right that is missing: "GET on 10.0.0.3:6379: NOPERM … (allow +get)".
func Reason(u inspect.Unseen) string {
	text := Printable(u.Read)
	if u.Where != "" {
		if text != "" {
			text += " on "
		}
		text += Printable(u.Where)
	}
	reason := u.Reason
	if reason == "" {
		reason = "no answer"
	}
	if text != "" {
		text += ": "
	}
	text += inspect.Untrusted(reason).Cut(240)
	if u.Right != "" {
		text += " (allow " + Printable(u.Right) + ")"
	}
	return text
}

// Reasons joins the reasons why some aspects are unknown, each once; empty where all of them were seen.
func Reasons(list []inspect.Unseen, aspects ...inspect.Aspect) string {
	var parts []string
	for _, u := range list {
		if text := Reason(u); slices.Contains(aspects, u.Aspect) && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}
