package tui

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/theme"
)

func findingColumns(width int) []column {
	return []column{
		{title: "RULE", width: 20, grow: 1, most: 22},
		{title: "LOCK", middle: true, width: 19, grow: 1, most: 36},
		{title: "STANDS", width: 7, right: true},
		{title: "MESSAGE", width: 20, grow: 5, most: max(20, width)},
	}
}

// beside says that the details stand beside the list: only where that leaves room for what most messages say.
func (s *findings) beside() bool { return s.width >= besideWidth+40 }

// tableWidth is what a wide window leaves beside the details.
func (s *findings) tableWidth() int {
	if !s.beside() {
		return s.width
	}
	return s.width - 3 - max(74, s.width*2/5)
}

// rows is how many rows of the list are in sight: all there is room for beside the details, and above them two fifths of
// the height, so that it does not depend on what is selected.
func (s *findings) rows() int {
	room := max(1, s.height-2)
	if s.beside() {
		return room
	}
	return max(1, min(s.index.rows(), max(4, room*2/5)))
}

func (s *findings) Sight() (at, of, rows int) { return s.cursor, s.index.rows(), s.rows() }

func (s *findings) View() string {
	t, tail := s.Theme(), s.Theme().Glyphs.Ellipsis
	width := s.tableWidth()
	inner := width - margin - 1
	columns := findingColumns(inner)
	widths := lay(columns, inner)
	lines := []string{append(line{{"   ", t.Header}}, titles(columns, widths, t.Header)...).render(width, tail, nil)}
	for i := s.top; i < min(s.top+s.rows(), s.index.rows()); i++ {
		group, f := s.index.row(i)
		mark, cells := s.findingCells(group, f)
		l := append(line{{" ", t.Text}, mark, {" ", t.Text}}, join(columns, widths, cells, tail)...)
		over := t.Selected
		if i != s.cursor {
			over = nil
		} else {
			l[0] = span{t.Glyphs.Cursor, t.Holding}
		}
		lines = append(lines, l.render(width, tail, over))
	}
	if s.index.rows() == 0 {
		for _, l := range s.emptyLines(width) {
			lines = append(lines, l.render(width, tail, nil))
		}
	}
	head := s.summary().render(s.width, tail, nil) + "\n"
	if s.beside() {
		wall := strings.TrimSuffix(strings.Repeat(t.Faint.Render(" "+t.Glyphs.Wall+" ")+"\n", s.height-1), "\n")
		body := strings.Join(filled(lines, s.height-1), "\n")
		details := strings.Join(s.details(s.width-width-3, s.height-1), "\n")
		return head + lipgloss.JoinHorizontal(lipgloss.Top, lipgloss.NewStyle().Width(width).Render(body), wall, details)
	}
	if s.group != nil {
		lines = append(lines, s.details(s.width, s.height-1-len(lines))...)
	}
	return head + strings.Join(filled(lines, s.height-1), "\n")
}

// findingSign is the glyph of a rule's findings and its style.
func findingSign(t *theme.Theme, g *foundGroup) span {
	if g.rule == blindRule {
		return span{t.Glyphs.Unknown, t.Unknown}
	}
	return severitySign(t, g.severity)
}

// findingCells are the sign and the cells of a finding or, without one, of a group's row.
func (s *findings) findingCells(g *foundGroup, f *found) (span, []line) {
	t := s.Theme()
	mark := findingSign(t, g)
	rule := describe.Printable(g.rule)
	switch {
	case f == nil:
		fold := t.Glyphs.Closed
		if g.open {
			fold = t.Glyphs.Opened
		}
		oldest := g.oldest()
		return mark, []line{
			{{fold + " " + rule, mark.style.Bold(true)}},
			{{onHowMany(g), t.Muted}},
			s.stands(oldest),
			{{said(t, g.shown[0].Message), t.Muted}},
		}
	case g.folds():
		rule = "  " + rule
	}
	return mark, []line{{{rule, mark.style}}, s.onCell(f), s.stands(f), {{said(t, f.Message), t.Text}}}
}

// oldest is the finding that has stood longest.
func (g *foundGroup) oldest() *found {
	if g.stood == nil {
		g.stood = g.shown[0]
		for _, f := range g.shown {
			if f.since.Before(g.stood.since) {
				g.stood = f
			}
		}
	}
	return g.stood
}

// onHowMany says how many findings a group has, and on how many locks or backends they are.
func onHowMany(g *foundGroup) string {
	if g.places == 0 {
		on := make(map[inspect.ID]bool)
		for _, f := range g.shown {
			on[f.on] = true
		}
		g.places = len(on)
	}
	what := "lock"
	if g.shown[0].aboutBackend() {
		what = "backend"
	}
	if g.places != 1 {
		what += "s"
	}
	where := describe.Thousands(g.places) + " " + what
	if g.places < len(g.shown) {
		return describe.Thousands(len(g.shown)) + " on " + where
	}
	return "on " + where
}

func (s *findings) onCell(f *found) line {
	t := s.Theme()
	if f.aboutBackend() {
		return line{{describe.Printable(f.on.Backend), t.Text}}
	}
	l := line{{describe.Printable(f.on.Backend) + ":", t.Muted}, {inspect.Escape(f.on.Path), t.Text}}
	if len(f.ring) > 1 {
		l = l.add(t.Muted, fmt.Sprintf(" +%d", len(f.ring)-1))
	}
	return l
}

// stands is how long a finding has been there, at least where it may have been there before we looked.
func (s *findings) stands(f *found) line {
	t := s.Theme()
	l := line{}
	if f.early {
		l = l.add(t.Muted, t.Glyphs.AtLeast)
	}
	return l.add(t.Text, describe.Seconds(s.Now().Sub(f.since)))
}

// summary counts the findings, and says when there is nothing wrong.
func (s *findings) summary() line {
	t := s.Theme()
	dot := " " + t.Glyphs.Dot + " "
	counts := map[inspect.Severity]int{}
	unseen := 0
	for _, g := range s.index.groups {
		if g.rule == blindRule {
			unseen += g.count
		} else {
			counts[g.severity] += g.count
		}
	}
	all := unseen
	for _, n := range counts {
		all += n
	}
	left := line{{" ", t.Text}}
	part := func(style lipgloss.Style, text string) {
		if left.width() > 1 {
			left = left.add(t.Muted, dot)
		}
		left = left.add(style, text)
	}
	if n := counts[inspect.Critical]; n > 0 {
		part(t.Critical, fmt.Sprintf("%s %s critical", t.Glyphs.Critical, describe.Thousands(n)))
	}
	if n := counts[inspect.Warning]; n > 0 {
		part(t.Warning, t.Glyphs.Warning+" "+describe.Count(n, "warning"))
	}
	if n := counts[inspect.Info]; n > 0 {
		part(t.Info, fmt.Sprintf("%s %s to know", t.Glyphs.Info, describe.Thousands(n)))
	}
	if left.width() == 1 && s.Arrived() {
		part(t.Strong, "nothing wrong that we can see")
	}
	if unseen > 0 || blindBackends(s) {
		part(t.Unknown, t.Glyphs.Unknown+" not all could be seen")
	}
	if total := (line{{" " + describe.Count(all, "finding"), t.Strong}, {dot, t.Muted}}); all > 0 && total.width()+left.width() < s.width {
		left = append(total, left[1:]...)
	}
	left = left.add(t.Muted, dot+describe.Count(s.Snapshot().Len(), "lock"))
	if scanned, busy := scanned(s); busy {
		left = left.add(t.Waiting, fmt.Sprintf("%sstill looking, %d scanned", dot, scanned))
	}
	return keepRight(left, s.input.view(t), s.width, t.Glyphs.Ellipsis)
}

// emptyLines say why there is nothing in the list and, where not everything could be seen, what not.
func (s *findings) emptyLines(width int) []line {
	t := s.Theme()
	say := func(style lipgloss.Style, texts ...string) []line {
		var lines []line
		for _, text := range texts {
			for _, part := range wrap(text, width-6, 3, t.Glyphs.Ellipsis) {
				lines = append(lines, line{{"   " + part, style}})
			}
		}
		return lines
	}
	if s.input.text() != "" && len(s.index.byPlace) > 0 {
		return append([]line{nil}, append(say(t.Text, "No finding matches the filter."), say(t.Muted, "esc shows all of them.")...)...)
	}
	if !s.Arrived() {
		return append([]line{nil}, append(say(t.Text, "Nothing is known yet."), say(t.Muted, "No server has answered so far.")...)...)
	}
	lines := append([]line{nil}, say(t.Text, "Nothing wrong that we can see.")...)
	if scanned, busy := scanned(s); busy {
		lines = append(lines, say(t.Muted, fmt.Sprintf("We are still looking: %d directories and keys scanned so far.", scanned))...)
	}
	if !blindBackends(s) {
		return lines
	}
	lines = append(append(lines, nil), say(t.Unknown, "What we cannot see:")...)
	for _, b := range s.Snapshot().Backends {
		if b.State != inspect.Connected {
			sign := backendSign(t, b.State)
			lines = append(lines, line{{"   " + sign.text + " " + describe.Printable(b.Name) + " is " + string(b.State), sign.style}, {"  " + describe.Trouble(b), t.Text}})
		}
	}
	return lines
}

// details are all that is known of what is selected, height lines or, where that is less, all there are.
func (s *findings) details(width, height int) []string {
	t := s.Theme()
	body := s.detailLines(width)
	head := s.detailHead(width)
	room := max(0, height-len(head))
	s.scroll = max(0, min(s.scroll, len(body)-room))
	s.over = max(0, len(body)-room-s.scroll)
	if s.over > 0 || s.inDetails {
		head[0] = s.detailRule(width)
	}
	var out []string
	for _, l := range append(head, body[s.scroll:min(len(body), s.scroll+room)]...) {
		out = append(out, l.render(width, t.Glyphs.Ellipsis, nil))
	}
	return out
}

// detailHead is a rule above the details; beside the list there is none but to say something.
func (s *findings) detailHead(width int) []line {
	if s.beside() {
		return []line{nil}
	}
	return []line{s.detailRule(width)}
}

// detailRule says that more is known than there is room for, and how to get at it.
func (s *findings) detailRule(width int) line {
	t := s.Theme()
	name := "selected"
	style := t.Muted
	switch {
	case s.inDetails && s.scroll+s.over > 0:
		name, style = fmt.Sprintf("selected %s %s arrows move, tab: to the list", t.Glyphs.Dot, t.Glyphs.Up+t.Glyphs.Down), t.Waiting
	case s.inDetails:
		name, style = "selected "+t.Glyphs.Dot+" all of it is shown, tab: to the list", t.Waiting
	case s.over > 0:
		name = fmt.Sprintf("selected %s %s %s, tab", t.Glyphs.Dot, t.Glyphs.Down, describe.Count(s.over, "more line"))
	}
	rule := t.Glyphs.Rule
	return line{
		{" " + strings.Repeat(rule, 2) + " ", t.Faint},
		{name, style},
		{" " + strings.Repeat(rule, max(0, width-ansi.StringWidth(name)-6)), t.Faint},
	}
}
