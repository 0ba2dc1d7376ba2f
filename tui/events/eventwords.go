package events

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
)

// eventText is the text that filters search.
func eventText(e *inspect.Event, n *screen.EventNote) string {
	if n.Text != "" {
		return n.Text
	}
	parts := []string{string(e.Kind), screen.EventWord(e), n.From}
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
	n.Text = strings.ToLower(strings.Join(parts, "\n"))
	return n.Text
}

// kindField precedes the kinds in a filter.
const kindField = "kind="

// trouble lists the kinds that kind=trouble stands for.
var trouble = []string{"finding", "cleared", "expired", "ended", "forced", "blind"}

// eventKinds returns the kinds in a filter's text, such as kind=expired,ended.
func eventKinds(text string) []string {
	var kinds []string
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if list, ok := strings.CutPrefix(word, kindField); ok {
			kinds = append(kinds, strings.FieldsFunc(list, func(r rune) bool { return r == ',' })...)
		}
	}
	if i := slices.Index(kinds, "trouble"); i >= 0 {
		return slices.Replace(kinds, i, i+1, trouble...)
	}
	return kinds
}

// newEventWords returns the words in a filter's text other than kinds.
func newEventWords(text string) screen.Filter {
	words := screen.NewWords(strings.Join(slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		return strings.HasPrefix(strings.ToLower(word), kindField)
	}), " "))
	if problem := kindProblem(text); problem != "" {
		return words.Refused(problem)
	}
	return words
}

// kindNames lists the values of kind=, as the rows name them. The names in watch's JSON work too.
const kindNames = "acquired handoff released expired ended forced waiting left lock appeared gone finding " +
	"cleared backend blind changed"

// kindProblem lists the valid kinds if a filter's text has an invalid one; else it is empty.
func kindProblem(text string) string {
	for _, kind := range eventKinds(text) {
		if !slices.ContainsFunc(strings.Fields(kindNames+" handover"), func(name string) bool {
			return strings.HasPrefix(name, strings.TrimSuffix(kind, "?"))
		}) {
			return "no kind " + strconv.Quote(kind) + "; choose from: trouble " + kindNames
		}
	}
	return ""
}

// matchesEvent reports whether an event has all the words and one of the kinds. A prefix of
// either of a kind's names is enough.
func matchesEvent(words screen.Filter, kinds []string, e *inspect.Event, n *screen.EventNote) bool {
	if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool {
		return strings.HasPrefix(string(e.Kind), k) || strings.HasPrefix(screen.EventWord(e), k)
	}) {
		return false
	}
	return words.Empty() || words.MatchText(eventText(e, n))
}
