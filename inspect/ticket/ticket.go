// Package ticket reports on a lock or a finding as Markdown or JSON, for readers who did not see
// it. All text from servers is escaped twice, for terminals and for the output format.
package ticket

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/jsonform"
)

// Ticket is about a lock, or about a finding on a backend.
type Ticket struct {
	// View has the snapshot to report on, and its time.
	View describe.View
	// Lock to report on; nil for a finding on a backend.
	Lock *inspect.Lock
	// Finding to report on, which comes first. If nil, all of the lock's are reported, the worst
	// first.
	Finding *inspect.Finding
	// Backend of the lock or the finding; nil if unknown.
	Backend *inspect.Backend
}

// Of makes the ticket of a lock, or of one of its findings if f is not nil.
func Of(v describe.View, l *inspect.Lock, f *inspect.Finding) Ticket {
	return Ticket{View: v, Lock: l, Finding: f, Backend: v.Snapshot.Backend(l.ID.Backend)}
}

// OfBackend makes the ticket of a finding about a backend.
func OfBackend(v describe.View, b *inspect.Backend, f *inspect.Finding) Ticket {
	return Ticket{View: v, Finding: f, Backend: b}
}

// Forms lists the formats of a ticket.
func Forms() []string { return []string{"markdown", "json"} }

// Extension is the file extension of a form, with its dot.
func Extension(form string) string {
	if form == "markdown" {
		return ".md"
	}
	return "." + form
}

// In writes the ticket in a form. An unknown form is an error.
func (t Ticket) In(form string) (string, error) {
	switch {
	case !slices.Contains(Forms(), form):
		return "", fmt.Errorf("ticket: unknown format %q", form)
	case form == "json":
		return t.json()
	default:
		return t.markdown(), nil
	}
}

// Subject names the ticket's lock, else its backend.
func (t Ticket) Subject() string {
	switch {
	case t.Lock != nil:
		return t.Lock.ID.String()
	case t.Backend != nil:
		return describe.Printable(t.Backend.Name)
	default:
		return "unknown"
	}
}

// json is one element of the snapshot's locks or backends, as lockscope show prints it.
func (t Ticket) json() (string, error) {
	var value any
	if t.Lock != nil {
		s := *t.View.Snapshot
		s.TakenAt = t.View.Now
		value = jsonform.Lock(&s, t.Lock)
	} else {
		value = jsonform.Backend(t.Backend)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(value); err != nil {
		return "", fmt.Errorf("ticket: %w", err)
	}
	return out.String(), nil
}

// findings returns the findings to report: the ticket's own first, the others by severity.
func (t Ticket) findings() []inspect.Finding {
	var list []inspect.Finding
	if t.Lock != nil {
		list = slices.Clone(t.Lock.Findings)
	}
	slices.SortStableFunc(list, func(a, b inspect.Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
	if t.Finding == nil {
		return list
	}
	key := t.Finding.Key()
	list = slices.DeleteFunc(list, func(f inspect.Finding) bool { return f.Key() == key })
	return append([]inspect.Finding{*t.Finding}, list...)
}

// offset is the backend's clock minus ours.
func (t Ticket) offset() time.Duration { return t.Backend.ClockOffset() }

// instant formats a time by the backend's clock, in UTC, with its age: 2026-05-04T11:46:02.000Z
// (13m58s ago).
func (t Ticket) instant(at time.Time) string {
	if at.IsZero() {
		return "unknown"
	}
	ago := t.View.Now.Add(t.offset()).Sub(at)
	if ago < 0 {
		return stamp(at) + " (in " + describe.Span(-ago) + ")"
	}
	return stamp(at) + " (" + describe.Span(ago) + " ago)"
}

// stamp formats an instant in UTC, to the millisecond.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// clock describes the difference between the backend's clock, which dates its events, and ours.
func (t Ticket) clock() string {
	if !t.Backend.ClockKnown() {
		return "UTC, by our clock (the servers' clock is unknown)"
	}
	return fmt.Sprintf("UTC, by the servers' clock (%+d ms from ours)", t.offset().Milliseconds())
}
