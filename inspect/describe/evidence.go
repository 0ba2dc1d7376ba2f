package describe

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Fact is a piece of evidence: its name and its values, with each record on a separate line.
type Fact struct {
	Name   string
	Values []string
}

// Why is the likely cause of a finding, where its rule knows one; not escaped.
func Why(f *inspect.Finding) string {
	cause, _ := f.Evidence["cause"].(string)
	return cause
}

// Evidence puts a finding's evidence into words, but for the names in without. now is by the backend's clock.
// Everything is escaped.
func Evidence(evidence map[string]any, now time.Time, without ...string) []Fact {
	var names []string
	for name := range evidence {
		if !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(rankOfFact(a), rankOfFact(b)), cmp.Compare(a, b)) })
	var facts []Fact
	for _, name := range names {
		if values := valuesOf(name, evidence[name], now); len(values) > 0 {
			facts = append(facts, Fact{Printable(strings.ReplaceAll(strings.TrimSuffix(name, "_ms"), "_", " ")), values})
		}
	}
	return facts
}

// rankOfFact puts who it is about before how long, and both before all else.
func rankOfFact(name string) int {
	first := []string{"owner", "contender", "client", "session", "state", "since", "held_since"}
	if at := slices.Index(first, name); at >= 0 {
		return at
	}
	return len(first)
}

// valuesOf is a value in words; a list of records has a line for each.
func valuesOf(name string, value any, now time.Time) []string {
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice && v.Len() > 0 && isRecord(v.Index(0)) {
		var lines []string
		for i := range v.Len() {
			lines = append(lines, valueText("", v.Index(i), now))
		}
		return lines
	}
	if text := valueText(name, v, now); text != "" {
		return []string{text}
	}
	return nil
}

func isRecord(v reflect.Value) bool {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v.Kind() == reflect.Map
}

// valueText is a value on one line.
func valueText(name string, v reflect.Value, now time.Time) string {
	switch v.Kind() {
	case reflect.Invalid:
		return ""
	case reflect.Interface, reflect.Pointer:
		return valueText(name, v.Elem(), now)
	case reflect.Bool:
		if v.Bool() {
			return "yes"
		}
		return "no"
	case reflect.Slice, reflect.Array:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = valueText("", v.Index(i), now)
		}
		return strings.Join(parts, ", ")
	case reflect.Map:
		return recordText(v, now)
	case reflect.String:
		return Printable(v.String())
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			return momentText(at, now)
		}
		return ""
	default:
		return numberText(name, v)
	}
}

// recordText is the fields of a record, that which says where it is first and without its name.
func recordText(v reflect.Value, now time.Time) string {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return cmp.Or(cmp.Compare(b2i(a.String() != "addr"), b2i(b.String() != "addr")), cmp.Compare(a.String(), b.String()))
	})
	where := ""
	var parts []string
	for _, key := range keys {
		name := key.String()
		text := valueText(name, v.MapIndex(key), now)
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

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// momentText is how long ago an instant is, or how far ahead.
func momentText(at, now time.Time) string {
	if at.After(now) {
		return "in " + Seconds(at.Sub(now)) + " (" + When(at, now) + ")"
	}
	return Seconds(now.Sub(at)) + " ago (" + When(at, now) + ")"
}

// numberText formats a number or, where its name gives milliseconds as its unit, a duration.
func numberText(name string, v reflect.Value) string {
	if !strings.HasSuffix(name, "_ms") || !v.CanInt() && !v.CanFloat() {
		return Printable(fmt.Sprint(v))
	}
	ms := 0.0
	if v.CanInt() {
		ms = float64(v.Int())
	} else {
		ms = v.Float()
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
