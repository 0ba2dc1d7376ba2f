package tui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect/describe"
)

// shownRing is how many locks of a finding about several are named.
const shownRing = 12

// detailLines are what is known of the selected finding: what to do before why, and why before what was seen. Of a group
// it is the first one's.
func (s *findings) detailLines(width int) []line {
	t := s.Theme()
	f := s.chosen
	if f == nil {
		if s.group == nil || len(s.group.shown) == 0 {
			return nil
		}
		f = s.group.shown[0]
	}
	mark := findingSign(t, f.group)
	dot := " " + t.Glyphs.Dot + " "
	facts := []string{string(f.Severity)}
	if f.Confidence != "" {
		facts = append(facts, string(f.Confidence))
	}
	title := line{{" " + mark.text + " " + describe.Printable(f.Rule), mark.style.Bold(true)}, {"  " + strings.Join(facts, dot), t.Muted}}
	if s.chosen == nil {
		title = title.add(t.Muted, dot+"the first of "+describe.Thousands(len(s.group.shown)))
	} else {
		title = title.add(t.Muted, dot+"stands ").add(t.Muted, s.stands(f).text())
	}
	lines := []line{title}
	lines = append(lines, s.onLines(f, width)...)
	lines = append(lines, indented(t.Text, "   ", said(t, f.Message), width)...)
	if f.Advice != "" {
		lines = append(append(lines, nil), s.adviceLines(said(t, f.Advice), width)...)
	}
	if cause, _ := f.Evidence["cause"].(string); cause != "" {
		lines = append(lines, nil)
		lines = append(lines, labelled(t.Muted, "why", t.Text, wrap(said(t, cause), width-detailIndent-1, many, ""))...)
	}
	return append(lines, s.factLines(f, width)...)
}

// detailIndent is how far the details stand in, behind their labels; many lines are all of them.
const (
	detailIndent = 8
	many         = 1 << 20
)

// onLines name all locks that a finding is about.
func (s *findings) onLines(f *found, width int) []line {
	t := s.Theme()
	if len(f.ring) == 0 {
		return indented(t.Strong, "   ", f.place(), width)
	}
	ring := f.ring
	rest := 0
	if len(ring) > shownRing {
		ring, rest = ring[:shownRing], len(ring)-shownRing
	}
	var lines []line
	for _, id := range ring {
		lines = append(lines, indented(t.Strong, "   ", describe.Printable(id), width)...)
	}
	if rest > 0 {
		lines = append(lines, line{{"   and " + describe.Count(rest, "more lock"), t.Muted}})
	}
	return lines
}

// adviceLines have each command on lines of its own, that can be copied and pasted.
func (s *findings) adviceLines(advice string, width int) []line {
	t := s.Theme()
	var lines []line
	name := "do"
	for _, p := range describe.Phrases(advice) {
		texts, style := wrap(p.Text, width-detailIndent-1, many, ""), t.Text
		if p.Command {
			texts, style = wrapCommand(p.Text, width-detailIndent-1), t.Waiting
		}
		lines = append(lines, labelled(t.Muted, name, style, texts)...)
		name = ""
	}
	return lines
}

// factLines are the evidence, a line or more for each.
func (s *findings) factLines(f *found, width int) []line {
	t := s.Theme()
	now := s.Now()
	if l := s.Snapshot().Lock(f.on); l != nil {
		now = now.Add(s.Snapshot().Backend(l.ID.Backend).ClockOffset())
	}
	facts := describe.Evidence(f.Evidence, now.Truncate(time.Second), "cause", "locks")
	names := 0
	for _, one := range facts {
		names = max(names, ansi.StringWidth(one.Name))
	}
	lines := []line{nil}
	label := "seen"
	for _, one := range facts {
		name := one.Name
		for _, value := range one.Values {
			for _, part := range wrap(said(t, value), width-detailIndent-names-3, many, "") {
				l := labelled(t.Muted, label, t.Muted, []string{name + strings.Repeat(" ", names-ansi.StringWidth(name)+2)})[0]
				lines = append(lines, l.add(t.Text, part))
				label, name = "", ""
			}
		}
	}
	if len(lines) == 1 {
		return nil
	}
	return lines
}

// labelled puts a label before the first of some lines.
func labelled(labels lipgloss.Style, label string, style lipgloss.Style, texts []string) []line {
	var lines []line
	for _, text := range texts {
		lines = append(lines, line{{"   " + label + strings.Repeat(" ", detailIndent-3-len(label)), labels}, {text, style}})
		label = ""
	}
	return lines
}

// indented wraps text behind an indent.
func indented(style lipgloss.Style, indent, text string, width int) []line {
	var lines []line
	for _, part := range wrap(text, width-len(indent)-1, many, "") {
		lines = append(lines, line{{indent + part, style}})
	}
	return lines
}
