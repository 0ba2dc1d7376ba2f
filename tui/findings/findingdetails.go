package findings

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// shownCycle limits the locks listed for a finding about several.
const shownCycle = 12

// detailLines describe the selected finding in full: advice before cause, and cause before
// evidence. For a group, they describe the one that was reported first.
func (s *Screen) detailLines(width int) []widget.Line {
	t := s.Theme()
	f := s.Chosen
	if f == nil {
		if s.group == nil || len(s.group.Shown) == 0 {
			return nil
		}
		f = s.group.oldest()
	}
	mark := findingSign(t, f.group)
	dot := " " + t.Glyphs.Dot + " "
	facts := []string{string(f.Severity)}
	if f.Confidence != "" {
		facts = append(facts, string(f.Confidence))
	}
	name := " " + mark.Text + " " + describe.Printable(f.Rule)
	title := widget.Line{{name, mark.Style.Bold()}, {"  " + strings.Join(facts, dot), t.Muted}}
	if s.Chosen == nil {
		title = title.Add(t.Muted, dot+"the first of "+describe.Thousands(len(s.group.Shown)))
	}
	title = title.Add(t.Muted, dot+"reported "+s.age(f)+" ago")
	lines := []widget.Line{title}
	if m := f.Muted; m != nil {
		lines = append(lines, indented(t.Muted, "   ", screen.MutedBy(s, m), width)...)
	}
	lines = append(lines, s.onLines(f, width)...)
	lines = append(lines, indented(t.Text, "   ", screen.Say(t, f.Message), width)...)
	lines = s.message.Fill(lines, s.height, s.Now())
	if len(f.Steps) > 0 {
		lines = append(append(lines, nil), s.adviceLines(f, width)...)
	}
	if cause := describe.Why(&f.Finding); cause != "" {
		lines = append(lines, nil)
		lines = append(lines,
			labelled(t.Muted, "why", t.Text, widget.Wrap(screen.Say(t, cause), width-detailIndent-1, many, ""))...)
	}
	return append(lines, s.factLines(f, width)...)
}

// detailIndent is the room of the details' labels, in cells. many sets no limit to wrapped lines.
const (
	detailIndent = 8
	many         = 1 << 20
)

// onLines list all locks that a finding is about.
func (s *Screen) onLines(f *found, width int) []widget.Line {
	t := s.Theme()
	if len(f.cycle) == 0 {
		return indented(t.Strong, "   ", f.Place(), width)
	}
	cycle := f.cycle
	rest := 0
	if len(cycle) > shownCycle {
		cycle, rest = cycle[:shownCycle], len(cycle)-shownCycle
	}
	var lines []widget.Line
	for _, id := range cycle {
		lines = append(lines, indented(t.Strong, "   ", describe.Printable(id), width)...)
	}
	if rest > 0 {
		lines = append(lines, widget.Line{{"   and " + describe.Count(rest, "more lock"), t.Muted}})
	}
	return lines
}

// adviceLines puts each command on separate lines, so that it can be copied and pasted.
func (s *Screen) adviceLines(f *found, width int) []widget.Line {
	t := s.Theme()
	var lines []widget.Line
	name := "do"
	for _, p := range f.Phrases() {
		texts, style := widget.Wrap(screen.Say(t, p.Text), width-detailIndent-1, many, ""), t.Text
		if p.Command {
			texts, style = widget.WrapCommand(describe.Printable(p.Text), width-detailIndent-1), t.Waiting
		}
		lines = append(lines, labelled(t.Muted, name, style, texts)...)
		name = ""
	}
	return lines
}

// factLines are the evidence, one or more lines for each fact.
func (s *Screen) factLines(f *found, width int) []widget.Line {
	t := s.Theme()
	now, without := s.Now(), []string{"cause", "locks"}
	var facts []describe.Fact
	if l := s.Snapshot().Lock(f.on); l != nil {
		now = now.Add(s.Snapshot().Backend(l.ID.Backend).ClockOffset())
		if c, ok := l.Contender(f.Subject.Contender); ok && c.State == inspect.Holding {
			without = append(without, "since")
			v, _ := screen.AgesOf(s, l)
			if held := v.Held(l, &c); held.Known != describe.Exactly || c.HeldSince.IsZero() { // as in the lock's row
				facts = []describe.Fact{{Name: "held", Values: []string{strings.TrimSpace(held.String())}}}
				without = append(without, "held_since")
			}
		}
	}
	facts = append(facts, describe.Evidence(f.Evidence, now.Truncate(time.Second), without...)...)
	names := 0
	for _, one := range facts {
		names = max(names, ansi.StringWidth(one.Name))
	}
	lines := []widget.Line{nil}
	label := "seen"
	for _, one := range facts {
		name := one.Name
		for _, value := range one.Values {
			for _, part := range widget.Wrap(screen.Say(t, value), width-detailIndent-names-3, many, "") {
				l := labelled(t.Muted, label, t.Muted,
					[]string{name + strings.Repeat(" ", names-ansi.StringWidth(name)+2)})[0]
				lines = append(lines, l.Add(t.Text, part))
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
func labelled(labels theme.Style, label string, style theme.Style, texts []string) []widget.Line {
	var lines []widget.Line
	for _, text := range texts {
		lines = append(lines, widget.Line{
			{"   " + label + strings.Repeat(" ", detailIndent-3-len(label)), labels}, {text, style},
		})
		label = ""
	}
	return lines
}

// indented wraps text behind an indent.
func indented(style theme.Style, indent, text string, width int) []widget.Line {
	var lines []widget.Line
	for _, part := range widget.Wrap(text, width-len(indent)-1, many, "") {
		lines = append(lines, widget.Line{{indent + part, style}})
	}
	return lines
}
