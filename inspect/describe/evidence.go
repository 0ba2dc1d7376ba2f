package describe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// Fact is a piece of evidence: its name and its values, with each record on a separate line.
type Fact struct {
	Name   string
	Values []string
}

// Why is the likely cause of a finding, if its rule knows one; not escaped.
func Why(f *inspect.Finding) string {
	cause, _ := f.Evidence["cause"].(string)
	return cause
}

// Evidence describes a finding's evidence. It leaves out the names in without, and the hold's age,
// which the message shows. now is by the backend's clock. Everything is escaped.
func Evidence(evidence map[string]any, now time.Time, without ...string) []Fact {
	without = append(without, "held_over", "held_at_least_ms", "known")
	var names []string
	for name := range evidence {
		if !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rankOfFact(a), rankOfFact(b)),
			cmp.Compare(a, b))
	})
	var facts []Fact
	for _, name := range names {
		values := valuesOf(name, evidence[name], now)
		if name == "count" && slices.Equal(values, []string{"1"}) { // the message says which one
			continue
		}
		if len(values) > 0 {
			facts = append(facts, Fact{factName(name), values})
		}
	}
	return facts
}

// factName describes an evidence key. A contender's since is when it joined the queue, not its
// grant.
func factName(name string) string {
	switch name {
	case "since":
		return "entered"
	case "blocked_below":
		return "waiters behind it"
	case "expires_at":
		return "expires"
	case "instead":
		return "watches instead"
	}
	return Printable(strings.ReplaceAll(strings.TrimSuffix(name, "_ms"), "_", " "))
}

// rankOfFact puts the client first, then durations, then the rest.
func rankOfFact(name string) int {
	first := []string{"owner", "contender", "client", "session", "state", "since", "held_since"}
	if at := slices.Index(first, name); at >= 0 {
		return at
	}
	return len(first)
}

// valuesOf formats a value. A list of records has a line for each.
func valuesOf(name string, value any, now time.Time) []string {
	if at, ok := value.(time.Time); ok {
		return []string{momentText(at, now)}
	}
	value = inJSON(value)
	if list, ok := value.([]any); ok && len(list) > 0 {
		if _, records := list[0].(map[string]any); records {
			return each.Of(list, plainText)
		}
	}
	if text := valueText(name, value); text != "" {
		return []string{text}
	}
	return nil
}

// inJSON converts a value as JSON would, since a recording keeps only that.
func inJSON(value any) (plain any) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&plain) != nil {
		return nil
	}
	return plain
}

func plainText(value any) string { return valueText("", value) }

// valueText formats a value on one line.
func valueText(name string, value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []any:
		return strings.Join(each.Of(v, plainText), ", ")
	case map[string]any:
		return recordText(v)
	case json.Number:
		return numberText(name, v)
	case string:
		return Printable(v)
	}
	return ""
}

// recordText lists the fields of a record. The address comes first, without its name.
func recordText(record map[string]any) string {
	names := slices.SortedFunc(maps.Keys(record), func(a, b string) int {
		return cmp.Or(compareBool(a != "addr", b != "addr"), cmp.Compare(a, b))
	})
	where := ""
	var parts []string
	for _, name := range names {
		text := valueText(name, record[name])
		switch {
		case text == "":
		case name == "addr":
			where = text + " "
		case name == "says":
			parts = append(parts, text)
		default:
			parts = append(parts, Printable(strings.ReplaceAll(strings.TrimSuffix(name, "_ms"), "_", " "))+" "+text)
		}
	}
	return strings.TrimSpace(where + strings.Join(parts, ", "))
}

// momentText says how long ago an instant was, or how far ahead it is.
func momentText(at, now time.Time) string {
	if at.After(now) {
		return "in " + Seconds(at.Sub(now)) + " (" + When(at, now) + ")"
	}
	return Seconds(now.Sub(at)) + " ago (" + When(at, now) + ")"
}

// numberText formats a number or, if its name ends in _ms, a duration.
func numberText(name string, number json.Number) string {
	ms, err := number.Float64()
	if err != nil || !strings.HasSuffix(name, "_ms") {
		return number.String()
	}
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	if ms < 10 {
		return sign + fmt.Sprintf("%.1fms", ms)
	}
	return sign + Span(time.Duration(ms*float64(time.Millisecond)))
}
