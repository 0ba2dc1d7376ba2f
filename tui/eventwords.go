package tui

import (
	"slices"
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/inspect/recipe"
	"lockscope/theme"
)

// eventWord is what a kind of event is called on the screen.
func eventWord(e *inspect.Event) string {
	switch e.Kind {
	case inspect.EventAppeared:
		return "lock found"
	case inspect.EventGone:
		if e.Contender != nil {
			return "left" // nobody saw it granted, which it may have been all the same
		}
		return "lock gone"
	case inspect.EventWaiting:
		return "waits"
	case inspect.EventHandover:
		return "handed over"
	case inspect.EventReleased:
		if e.Certainty == recipe.Likely {
			return "released?" // or its session ran out
		}
		return "released"
	default:
		return string(e.Kind) // acquired, expired, lost, ended, forced, finding, cleared, backend, blind, changed
	}
}

// eventSign is the glyph of an event and its style.
func eventSign(t *theme.Theme, e *inspect.Event) span {
	g := t.Glyphs
	switch e.Kind {
	case inspect.EventAcquired:
		return span{g.Holding, t.Holding}
	case inspect.EventHandover:
		return span{g.Handover, t.Holding}
	case inspect.EventWaiting:
		return span{g.Waiting, t.Waiting}
	case inspect.EventReleased:
		return span{g.Free, t.Muted}
	case inspect.EventExpired:
		return span{g.Expired, t.Warning}
	case inspect.EventLost:
		return span{g.Warning, t.Warning}
	case inspect.EventForced:
		return span{g.Forced, t.Warning}
	case inspect.EventFinding:
		return severitySign(t, e.Finding.Severity)
	case inspect.EventCleared:
		return span{g.Cleared, t.Holding}
	case inspect.EventBackend:
		return backendSign(t, e.Backend.State)
	case inspect.EventBlind, inspect.EventChanged:
		return span{g.Warning, t.Warning}
	case inspect.EventAppeared:
		return span{g.Came, t.Muted}
	default:
		return span{g.Went, t.Muted}
	}
}

// backendSign is the glyph of a backend's state and its style.
func backendSign(t *theme.Theme, s inspect.BackendState) span {
	switch s {
	case inspect.Degraded:
		return span{t.Glyphs.Pending, t.Warning}
	case inspect.Down:
		return span{t.Glyphs.Critical, t.Critical}
	default:
		return span{t.Glyphs.Holding, t.Holding}
	}
}

// tookWords say how long the hold or the wait was that an event ends; empty where that is not known or nothing.
func tookWords(t *theme.Theme, e *inspect.Event, n *eventNote) string {
	what := "held "
	switch e.Kind {
	case inspect.EventAcquired, inspect.EventHandover, inspect.EventGone:
		what = "waited "
	}
	switch {
	case n.took <= 0:
		return ""
	case n.atMost:
		what += t.Glyphs.AtMost
	}
	return what + describe.Span(n.took)
}

// eventText is what filters look in.
func eventText(e *inspect.Event, n *eventNote) string {
	if n.text != "" {
		return n.text
	}
	parts := []string{string(e.Kind), eventWord(e), n.from}
	if e.Lock != (inspect.ID{}) {
		parts = append(parts, e.Lock.String())
	}
	if c := e.Contender; c != nil {
		parts = append(parts, describe.Owner(c), describe.Client(&c.Owner), c.Name.String())
	}
	if f := e.Finding; f != nil {
		parts = append(parts, f.Rule, string(f.Severity), f.Message)
	}
	if b := e.Backend; b != nil {
		parts = append(parts, b.Name, string(b.State), b.Error)
	}
	n.text = strings.ToLower(strings.Join(parts, "\n"))
	return n.text
}

// kindField goes before the kinds that a filter asks for.
const kindField = "kind="

// eventKinds are the kinds that a filter's text names: kind=expired,lost.
func eventKinds(text string) []string {
	var kinds []string
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if list, ok := strings.CutPrefix(word, kindField); ok {
			kinds = append(kinds, strings.FieldsFunc(list, func(r rune) bool { return r == ',' })...)
		}
	}
	return kinds
}

// newEventWords are the words of a filter's text that name no kinds.
func newEventWords(text string) filter {
	return newWords(strings.Join(slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		return strings.HasPrefix(strings.ToLower(word), kindField)
	}), " "))
}

// matchesEvent says whether an event has the words and one of the kinds. A kind may be begun only, by either of its names.
func matchesEvent(words filter, kinds []string, e *inspect.Event, n *eventNote) bool {
	if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool {
		return strings.HasPrefix(string(e.Kind), k) || strings.HasPrefix(eventWord(e), k)
	}) {
		return false
	}
	return words.empty() || words.matchText(eventText(e, n))
}
