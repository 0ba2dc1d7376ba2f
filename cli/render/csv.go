package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/each"
)

// WriteCSV writes rows as in RFC 4180; the first has the column heads.
func WriteCSV(to io.Writer, rows [][]string) error {
	w := csv.NewWriter(to)
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return w.Error()
}

// csvText escapes text from servers that a spreadsheet would take for a formula.
func csvText(text string) string {
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// LocksCSV returns a row for each lock. Unknown values are empty; times are UTC by the backend's
// clock, and durations are in milliseconds.
func LocksCSV(s *inspect.Snapshot, locks []*inspect.Lock) [][]string {
	columns := csvColumns(viewOf(s))
	rows := [][]string{each.Of(columns, func(c csvColumn) string { return c.head })}
	return append(rows, each.Of(locks, func(l *inspect.Lock) []string {
		return each.Of(columns, func(c csvColumn) string { return c.cell(l) })
	})...)
}

type csvColumn struct {
	head string
	cell func(*inspect.Lock) string
}

func csvColumns(view describe.View) []csvColumn {
	return []csvColumn{
		{"id", func(l *inspect.Lock) string { return csvText(l.ID.String()) }},
		{"state", func(l *inspect.Lock) string { return string(l.State) }},
		{"kind", func(l *inspect.Lock) string { return string(l.Kind) }},
		{"library", func(l *inspect.Lock) string { return l.Recipe }},
		{"confidence", func(l *inspect.Lock) string { return string(l.Confidence) }},
		{"holders", func(l *inspect.Lock) string { return fmt.Sprint(len(l.Holders)) }},
		{"holder", ofHolder(func(_ *inspect.Lock, h *inspect.Contender) string { return csvText(h.Who().String()) })},
		{"client", ofHolder(func(_ *inspect.Lock, h *inspect.Contender) string {
			return csvText(inspect.Escape(h.Owner.Client))
		})},
		{"session", ofHolder(session)},
		{"held_since", ofHolder(func(_ *inspect.Lock, h *inspect.Contender) string { return instant(h.Since) })},
		{"held_ms", ofHolder(func(l *inspect.Lock, h *inspect.Contender) string { return millis(view.Since(l, h)) })},
		{"ttl_ms", ofHolder(func(_ *inspect.Lock, h *inspect.Contender) string {
			if h.NoExpiry {
				return "-1"
			}
			return millis(inspect.Age{Duration: h.ExpiresAt.Sub(view.Now)}, !h.ExpiresAt.IsZero())
		})},
		{"waiters", func(l *inspect.Lock) string { return fmt.Sprint(l.Waiting()) }},
		{"waiters_known", func(l *inspect.Lock) string {
			return fmt.Sprint(l.WaitersAtLeast == 0 && !l.Unknown(inspect.AspectWaiters))
		}},
		{"longest_wait_ms", func(l *inspect.Lock) string { return millis(view.LongestWait(l)) }},
		{"votes", ofMasters((*inspect.Lock).Votes)},
		{"masters", ofMasters(func(l *inspect.Lock) int { return len(l.Masters) })},
		{"finding", ofWorst(func(f *inspect.Finding) string { return f.Rule })},
		{"severity", ofWorst(func(f *inspect.Finding) string { return string(f.Severity) })},
		{"grants", func(l *inspect.Lock) string { return grants(view.Snapshot, l) }},
		{"ages_known", func(l *inspect.Lock) string { return agesKnown(view, l) }},
	}
}

func ofMasters(f func(*inspect.Lock) int) func(*inspect.Lock) string {
	return func(l *inspect.Lock) string {
		if len(l.Masters) == 0 {
			return ""
		}
		return fmt.Sprint(f(l))
	}
}

func ofWorst(f func(*inspect.Finding) string) func(*inspect.Lock) string {
	return func(l *inspect.Lock) string {
		if worst := describe.Worst(l.Findings); worst != nil {
			return f(worst)
		}
		return ""
	}
}

// agesKnown is false if a row's held_ms or longest_wait_ms relies on a clock that was never
// compared with ours. It is empty if the row has neither.
func agesKnown(view describe.View, l *inspect.Lock) string {
	known, some := true, false
	if len(l.Holders) > 0 {
		if d, ok := view.Since(l, &l.Holders[0]); ok {
			known, some = d.Known, true
		}
	}
	if d, ok := view.LongestWait(l); ok {
		known, some = known && d.Known, true
	}
	if !some {
		return ""
	}
	return fmt.Sprint(known)
}

func millis(d inspect.Age, known bool) string {
	if !known {
		return ""
	}
	return fmt.Sprint(d.Milliseconds())
}

func instant(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// DiagnosisCSV returns a row for each finding on each lock or backend, the worst first.
func DiagnosisCSV(s *inspect.Snapshot, found []Complaint) [][]string {
	rows := [][]string{{"severity", "finding", "on", "message", "advice", "confidence", "muted_until"}}
	for _, c := range found {
		until := ""
		if c.Muted != nil {
			until = c.Muted.Until.UTC().Format(time.RFC3339)
		}
		for _, on := range c.on {
			rows = append(rows, []string{
				string(c.Severity), c.Rule, csvText(on), csvText(describe.Printable(c.Message)),
				csvText(describe.Printable(c.Advice())), string(c.Confidence), until,
			})
		}
	}
	return rows
}
