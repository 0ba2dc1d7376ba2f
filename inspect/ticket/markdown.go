package ticket

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// mostWaiters and mostHolds limit the waiters and past holds that a ticket lists.
const mostWaiters, mostHolds = 50, 10

// document is Markdown under construction (CommonMark with GitHub's tables).
type document struct{ strings.Builder }

func (d *document) line(format string, args ...any) {
	fmt.Fprintf(d, format, args...)
	d.WriteByte('\n')
}

func (d *document) heading(level int, title string) {
	d.line("%s %s\n", strings.Repeat("#", level), title)
}

// table writes rows of cells below their heads. The cells are already Markdown.
func (d *document) table(heads []string, rows [][]string) {
	d.line("| %s |", strings.Join(heads, " | "))
	d.line("|%s", strings.Repeat(" --- |", len(heads)))
	for _, r := range rows {
		d.line("| %s |", strings.Join(r, " | "))
	}
	d.WriteByte('\n')
}

// prose converts text escaped for terminals to Markdown without formatting, links, mentions or
// HTML: words that Markdown would read differently become code.
func prose(text string) string {
	words := strings.Split(describe.Printable(text), " ")
	for i, word := range words {
		if strings.ContainsAny(word, "\\`*_{}[]<>#|~&!$@") || strings.Contains(word, "://") ||
			strings.Contains(strings.ToLower(word), "www.") {
			name := strings.Trim(word, "(),.;:")
			before, after, _ := strings.Cut(word, name)
			words[i] = before + code(name) + after
		}
	}
	return strings.Join(words, " ")
}

// code converts text escaped for terminals to a code span.
func code(text string) string {
	if text == "" {
		return ""
	}
	text = describe.Printable(text)
	fence, pad := "`", ""
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		pad = " "
	}
	return fence + pad + text + pad + fence
}

// cell is code for a table cell, where a bar would end the cell even inside code.
func cell(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }

// block writes a shell code block.
func (d *document) block(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	d.line("%ssh\n%s\n%s\n", fence, text, fence)
}

func (t Ticket) markdown() string {
	var d document
	found := t.findings()
	title := code(t.Subject())
	if len(found) > 0 {
		title = prose(found[0].Rule) + ": " + title
	}
	d.heading(1, title)
	if t.Lock != nil {
		d.line("%s\n", prose(t.View.Verdict(t.Lock)))
	}
	t.writeFacts(&d)
	for i := range found {
		t.writeFinding(&d, &found[i])
	}
	if t.Lock != nil {
		t.writeQueue(&d)
		t.writeMasters(&d)
		t.writePast(&d)
		t.writeUnseen(&d, t.Lock.Unseen)
	} else if t.Backend != nil {
		t.writeUnseen(&d, t.Backend.Unseen)
	}
	return strings.TrimRight(d.String(), "\n") + "\n"
}

// writeFacts writes the subject and the time of the ticket.
func (t Ticket) writeFacts(d *document) {
	if l := t.Lock; l != nil {
		name := cmp.Or(l.Recipe, "unknown library")
		d.line("- lock: %s, %s, %s (%s), %s", code(l.ID.String()), prose(string(l.Kind)), prose(name), l.Confidence,
			describe.StateWord(l.State))
		d.line("- seen: %s", stamp(t.View.Now))
		if asOf := l.AsOf(t.Backend, t.View.Now); !asOf.IsZero() && t.View.Now.Sub(asOf) >= time.Second {
			d.line("- read: %s (%s earlier)", stamp(asOf), describe.Span(t.View.Now.Sub(asOf)))
		}
	} else {
		d.line("- seen: %s", stamp(t.View.Now))
	}
	if b := t.Backend; b != nil {
		d.line("- backend: %s, %s, %s", code(b.Name), b.Kind, b.State)
		if b.Error != "" {
			d.line("- error: %s", prose(inspect.Escape(b.Error)))
		}
		d.line("- times: %s", t.clock())
	}
	d.WriteByte('\n')
}

// writeFinding writes the problem, its evidence and the remedy, with each command in its own
// block.
func (t Ticket) writeFinding(d *document, f *inspect.Finding) {
	d.heading(2, fmt.Sprintf("%s: %s", f.Severity, prose(f.Rule)))
	d.line("%s\n", prose(f.Message))
	facts := describe.Evidence(f.Evidence, t.View.Now.Add(t.offset()).UTC())
	for _, fact := range facts {
		for i, value := range fact.Values {
			switch {
			case len(fact.Values) == 1:
				d.line("- %s: %s", prose(fact.Name), prose(value))
			case i == 0:
				d.line("- %s:\n  - %s", prose(fact.Name), prose(value))
			default:
				d.line("  - %s", prose(value))
			}
		}
	}
	if len(facts) > 0 {
		d.WriteByte('\n')
	}
	for i, part := range f.Phrases() {
		text := describe.Printable(part.Text)
		switch {
		case part.Command:
			d.block(text)
		case i == 0:
			d.line("Advice: %s\n", prose(text))
		default:
			d.line("%s\n", prose(text))
		}
	}
}

// writeQueue lists the holders and the waiters, in order.
func (t Ticket) writeQueue(d *document) {
	l := t.Lock
	if len(l.Holders) > 0 {
		d.heading(2, describe.Count(len(l.Holders), "holder"))
		var rows [][]string
		for i := range l.Holders {
			c := &l.Holders[i]
			held := t.instant(c.HeldSince)
			if c.HeldSince.IsZero() && !c.Since.IsZero() {
				held = "unknown; in the queue since " + t.instant(c.Since)
			}
			rows = append(rows, append(t.who(c), held, t.expiry(c), cmp.Or(describe.Blocks(l, c), "–")))
		}
		d.table([]string{"entry", "owner", "client", "session", "held since", "expires", "blocks"}, rows)
	}
	if len(l.Waiters) == 0 {
		return
	}
	d.heading(2, describe.Count(len(l.Waiters), "waiter"))
	var rows [][]string
	for i := range l.Waiters[:min(len(l.Waiters), mostWaiters)] {
		c := &l.Waiters[i]
		rows = append(rows, append(t.who(c), t.instant(c.Since), watch(c), cmp.Or(describe.Blocks(l, c), "–")))
	}
	d.table([]string{"entry", "owner", "client", "session", "waits since", "watches", "blocks"}, rows)
	if more := len(l.Waiters) - mostWaiters; more > 0 {
		d.line("and %d more.\n", more)
	}
}

// who returns the cells that identify a contender.
func (t Ticket) who(c *inspect.Contender) []string {
	entry := cell(c.Name.String())
	if c.Mode == recipe.Shared {
		entry += " (shared)"
	}
	owner := c.Owner.Label.String()
	for _, more := range []struct{ name, text string }{
		{describe.Host(&c.Owner), c.Owner.Host.String()},
		{"pid", c.Owner.PID.String()},
		{"thread", c.Owner.Thread.String()},
		{"instance", c.Owner.LibraryID.String()},
	} {
		if more.text != "" {
			owner = strings.TrimSpace(owner + " " + more.name + " " + more.text)
		}
	}
	return []string{
		entry, orUnknown(owner), orUnknown(inspect.Escape(c.Owner.Client)),
		orUnknown(inspect.SessionID(c.Owner.Session)),
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return cell(text)
}

func (t Ticket) expiry(c *inspect.Contender) string {
	switch {
	case c.NoExpiry:
		return "never"
	case c.ExpiresAt.IsZero():
		return "–"
	default:
		return t.instant(c.ExpiresAt.Add(t.offset()))
	}
}

// watch returns a waiter's predecessor, and whether the server confirms the watch.
func watch(c *inspect.Contender) string {
	if c.Watches == "" {
		return "–"
	}
	name := cell(c.Watches.String())
	switch c.Watch {
	case inspect.Confirmed:
		return name + ", confirmed"
	case inspect.Missing:
		return "**not** " + name
	default:
		return name + ", expected only"
	}
}

// writeMasters lists the votes of Redis masters.
func (t Ticket) writeMasters(d *document) {
	l := t.Lock
	if len(l.Masters) == 0 {
		return
	}
	d.heading(2, fmt.Sprintf("%s, quorum %d", describe.Count(len(l.Masters), "master"), l.Quorum))
	var rows [][]string
	for i := range l.Masters {
		m := &l.Masters[i]
		value, vote := cell(m.Value.String()), "no"
		switch {
		case !m.Up:
			value, vote = "no answer: "+strings.ReplaceAll(prose(inspect.Escape(m.Error)), "|", `\|`), "unknown"
		case !m.Present:
			value = "absent"
		case m.Foreign:
			value = "not a lock: " + value
		case m.Agrees:
			vote = "yes"
		}
		rows = append(rows, []string{cell(inspect.Escape(m.Addr)), vote, value, describe.Expiry(m, t.View.Now)})
	}
	d.table([]string{"master", "vote", "value", "time to live"}, rows)
}

// percentiles is the least number of holds or waits for which percentiles are shown.
const percentiles = 10

// writePast lists the latest ended holds.
func (t Ticket) writePast(d *document) {
	h := t.View.Snapshot.History(t.Lock.ID)
	if h == nil {
		return
	}
	d.heading(2, "Since "+stamp(h.Since))
	d.line("Acquired %s, %s.", describe.Times(h.Grants), describe.Count(h.Handovers, "handoff"))
	for _, s := range []struct {
		name string
		inspect.Spans
	}{{"hold", h.Holds}, {"wait", h.Waits}} {
		completed := describe.Count(s.Count, "completed "+s.name)
		switch {
		case s.Count == 0:
		case s.Count < percentiles:
			d.line("%s: longest %s.", completed, describe.Span(s.Max))
		default:
			d.line("%s: p50 %s, p99 %s, longest %s.", completed,
				describe.Span(s.P50), describe.Span(s.P99), describe.Span(s.Max))
		}
	}
	d.WriteByte('\n')
	var rows [][]string
	for _, s := range h.Recent[max(0, len(h.Recent)-mostHolds):] {
		held := "unknown"
		if !s.Granted.IsZero() && !s.Ended.IsZero() {
			held = describe.Span(s.Ended.Sub(s.Granted))
		}
		rows = append(rows, []string{cell(cmp.Or(s.Label, s.Contender).String()), t.instant(s.Granted), t.instant(s.Ended), held})
	}
	if len(rows) > 0 {
		d.table([]string{"held by", "acquired", "ended", "held for"}, rows)
	}
}

// writeUnseen lists the reads that were refused or failed.
func (t Ticket) writeUnseen(d *document, list []inspect.Unseen) {
	if len(list) == 0 {
		return
	}
	d.heading(2, "Not seen")
	for _, u := range list {
		d.line("- %s: %s", prose(describe.Aspect(u.Aspect)), prose(describe.Reason(u)))
	}
}
