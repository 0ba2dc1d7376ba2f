package chain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// Up to mostFindings are listed; if there are more, only listedFindings of them.
const mostFindings, listedFindings = 3, 2

// findings lists a lock's findings, the worst first, with advice. A short window only has room for
// the worst one's advice.
func (p *Pane) findings(l *inspect.Lock) []widget.Line {
	t, tail := p.Theme(), p.Theme().Glyphs.Ellipsis
	found := slices.Clone(l.Findings)
	slices.SortStableFunc(found, describe.WorstFirst)
	rest := 0
	if len(found) > mostFindings {
		found, rest = found[:listedFindings], len(found)-listedFindings
	}
	var lines []widget.Line
	for i, f := range found {
		s := screen.FindingSign(t, &f)
		rule := screen.RuleName(&f)
		for j, text := range widget.Wrap(screen.Say(p.Theme(), f.Message), p.width-6-len(rule), 2, tail) {
			lead := widget.Line{{strings.Repeat(" ", 5+len(rule)), t.Text}}
			if j == 0 {
				lead = widget.Line{{" " + s.Text + " " + rule + "  ", s.Style}}
			}
			style := t.Text
			if f.Muted != nil {
				style = t.Faint
			}
			lines = append(lines, lead.Add(style, text))
		}
		if f.Muted != nil {
			lines = append(lines, widget.Line{{"     " + screen.MutedBy(p, f.Muted), t.Faint}})
		}
		if len(f.Steps) > 0 && (i == 0 || p.height >= roomy) {
			lines = append(lines, p.adviceLines(&f)...)
		}
	}
	if rest > 0 {
		lines = append(lines, widget.Line{{
			fmt.Sprintf("   and %s (lockscope doctor lists all)", describe.Count(rest, "more finding")), t.Muted,
		}})
	}
	return lines
}

// adviceLines puts each command on separate lines, so that it can be copied and pasted.
func (p *Pane) adviceLines(f *inspect.Finding) []widget.Line {
	t, width := p.Theme(), p.width-6
	var lines []widget.Line
	for _, part := range f.Phrases() {
		texts, style := widget.Wrap(screen.Say(t, part.Text), width, 5, t.Glyphs.Ellipsis), t.Muted
		if part.Command {
			texts, style = widget.WrapCommand(describe.Printable(part.Text), width), t.Waiting
		}
		for _, text := range texts {
			lines = append(lines, widget.Line{{"     " + text, style}})
		}
	}
	return lines
}

// roomy is the height at which everything known fits.
const roomy = 26
