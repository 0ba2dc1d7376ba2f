package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

// WriteCSV writes rows as in RFC 4180; the first has the heads.
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

// LocksCSV returns a row for each lock. Unknown is empty; times are UTC by the backend's clock,
// spans are milliseconds.
func LocksCSV(s *inspect.Snapshot, locks []*inspect.Lock) [][]string {
	rows := [][]string{{
		"id", "state", "kind", "library", "confidence", "holders", "holder", "client", "session", "held_since",
		"held_ms", "ttl_ms",
		"waiters", "waiters_known", "longest_wait_ms", "votes", "masters", "finding", "severity", "grants",
		"ages_known",
	}}
	view := describe.View{Snapshot: s, Now: s.TakenAt}
	for _, l := range locks {
		row := []string{
			csvText(l.ID.String()), string(l.State), string(l.Kind), l.Recipe, string(l.Confidence),
			fmt.Sprint(len(l.Holders)),
		}
		row = append(row, holderCSV(view, l)...)
		wait := ""
		if d, ok := view.LongestWait(l); ok {
			wait = millis(d.Duration)
		}
		row = append(row, fmt.Sprint(l.Waiting()),
			fmt.Sprint(l.WaitersAtLeast == 0 && !l.Unknown(inspect.AspectWaiters)), wait)
		if len(l.Masters) > 0 {
			row = append(row, fmt.Sprint(l.Votes()), fmt.Sprint(len(l.Masters)))
		} else {
			row = append(row, "", "")
		}
		if f := describe.Worst(l.Findings); f != nil {
			row = append(row, f.Rule, string(f.Severity))
		} else {
			row = append(row, "", "")
		}
		rows = append(rows, append(row, grants(s, l), agesKnown(view, l)))
	}
	return rows
}

// holderCSV returns the cells of a lock's first holder.
func holderCSV(view describe.View, l *inspect.Lock) []string {
	if len(l.Holders) == 0 {
		return make([]string, 6)
	}
	c := &l.Holders[0]
	since, held, ttl := "", "", ""
	if !c.Since.IsZero() {
		since = c.Since.UTC().Format(time.RFC3339Nano)
	}
	if d, ok := view.Since(l, c); ok {
		held = millis(d.Duration)
	}
	switch {
	case c.NoExpiry:
		ttl = "-1"
	case !c.ExpiresAt.IsZero():
		ttl = millis(c.ExpiresAt.Sub(view.Now))
	}
	return []string{
		csvText(c.Who().String()), csvText(inspect.Escape(c.Owner.Client)),
		inspect.SessionID(c.Owner.Session), since, held, ttl,
	}
}

// agesKnown is false where a row's held_ms or longest_wait_ms relies on a clock that was never
// compared with ours. It is empty where the row has neither.
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

func millis(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

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
