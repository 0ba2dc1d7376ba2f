package findings

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// columns lays out the table. The message gets the width that rules and locks leave free.
func (s *Screen) columns(width int) []widget.Column {
	rule, lock := s.Index.needs()
	list := []widget.Column{
		{Title: "RULE", Width: 20, Grow: 1, Most: 22},
		{Title: "LOCK", Middle: true, Width: 19, Grow: 1, Most: 36},
		{Title: "REPORTED", Width: 8, Right: true, From: 44},
		{Title: "MESSAGE", Width: 20, Grow: 5, Most: max(20, width), From: 60},
	}
	list[0].Fit(rule)
	list[1].Fit(lock)
	list[3].Domain = describe.SharedDomain(s.Snapshot())
	list[1].Width = max(list[1].Width, min(list[1].Most, width/4))
	return list
}

// sideBySide reports whether the details are next to the list, which needs room for most
// messages.
func (s *Screen) sideBySide() bool { return s.width >= screen.SplitWidth+40 }

// tableWidth is the room next to the details. They fit a command with Curator's longest names: 58
// cells, for a read/write lock.
func (s *Screen) tableWidth() int {
	if !s.sideBySide() {
		return s.width
	}
	return s.width - 3 - max(66, s.width*3/10)
}

// rows is the number of visible rows: the full height next to the details, or two fifths of it
// above them. It does not depend on the selection.
func (s *Screen) rows() int {
	room := max(1, s.height-2)
	if s.sideBySide() {
		return room
	}
	return max(1, min(s.listed.KeepLines(s.Index.Rows(), s.Now()), max(4, room*2/5)))
}

func (s *Screen) ScrollPosition() (at, of, rows int) { return s.list.At, s.Index.Rows(), s.rows() }

// View is the screen, as drawn by SetSize.
func (s *Screen) View() string { return s.drawn }

func (s *Screen) draw() string {
	t, tail := s.Theme(), s.Theme().Glyphs.Ellipsis
	width := s.tableWidth()
	inner := width - widget.Margin - 1
	columns := s.columns(inner)
	widths := widget.Lay(columns, inner)
	header := append(widget.Line{{"   ", t.Header}}, widget.Titles(columns, widths, t.Header)...)
	lines := []string{header.Render(width, tail, nil)}
	from, to := s.list.Visible(s.Index.Rows(), s.rows())
	for i := from; i < to; i++ {
		group, f := s.Index.Row(i)
		mark, cells := s.findingCells(group, f)
		l := append(widget.Line{{" ", t.Text}, mark, {" ", t.Text}}, widget.Join(columns, widths, cells, tail)...)
		over := t.Selected
		if i != s.list.At {
			over = nil
		} else {
			l[0] = widget.Span{t.Glyphs.Cursor, t.Holding}
		}
		lines = append(lines, l.Render(width, tail, over))
	}
	if s.Index.Rows() == 0 {
		for _, l := range s.emptyLines(width) {
			lines = append(lines, l.Render(width, tail, nil))
		}
	}
	if s.sideBySide() && s.Index.Rows() <= s.rows() || s.Index.Rows() == 0 {
		for _, l := range s.clearedLines(width, s.height-1-len(lines), columns, widths) {
			lines = append(lines, l.Render(width, tail, nil))
		}
	}
	head := s.summary().Render(s.width, tail, nil) + "\n"
	if s.sideBySide() {
		wall := strings.TrimSuffix(strings.Repeat(t.Faint.Render(" "+t.Glyphs.Wall+" ")+"\n", s.height-1), "\n")
		body := strings.Join(widget.Filled(lines, s.height-1), "\n")
		details := strings.Join(s.details(s.width-width-3, s.height-1), "\n")
		return head + lipgloss.JoinHorizontal(lipgloss.Top, lipgloss.NewStyle().Width(width).Render(body), wall,
			details)
	}
	if s.group != nil {
		lines = widget.Filled(lines, 1+s.rows())
		lines = append(lines, s.details(s.width, s.height-1-len(lines))...)
	}
	return head + strings.Join(widget.Filled(lines, s.height-1), "\n")
}

func findingSign(t *theme.Theme, g *foundGroup) widget.Span {
	sign := screen.SeveritySign(t, g.severity)
	if g.Rule == blindRule {
		sign = widget.Span{t.Glyphs.Unknown, t.Unknown}
	}
	if g.muted {
		sign.Style = t.Faint
	}
	return sign
}

// findingCells returns the sign and the cells of a finding or, without one, of a group.
func (s *Screen) findingCells(g *foundGroup, f *found) (widget.Span, []widget.Line) {
	t := s.Theme()
	mark := findingSign(t, g)
	rule := describe.Printable(g.Rule)
	switch {
	case f == nil:
		fold := t.Glyphs.Closed
		if g.open {
			fold = t.Glyphs.Opened
		}
		oldest := g.oldest()
		return mark, []widget.Line{
			{{fold + " " + rule, mark.Style.Bold()}},
			{{onHowMany(g), t.Muted}},
			{{s.age(oldest), t.Text}},
			{{s.said(oldest), t.Muted}},
		}
	case g.folds():
		rule = "  " + rule
	}
	text := t.Text
	if g.muted {
		text = t.Faint
	}
	return mark, []widget.Line{{{rule, mark.Style}}, s.onCell(f), {{s.age(f), t.Text}}, {{s.said(f), text}}}
}

func (s *Screen) said(f *found) string {
	text := screen.Say(s.Theme(), f.Message)
	if f.Muted != nil {
		return "(muted) " + text
	}
	return text
}

// oldest is the finding that was reported first.
func (g *foundGroup) oldest() *found {
	if g.cachedOldest == nil {
		g.cachedOldest = g.Shown[0]
		for _, f := range g.Shown {
			if f.since.Before(g.cachedOldest.since) {
				g.cachedOldest = f
			}
		}
	}
	return g.cachedOldest
}

// onHowMany counts a group's findings, and their locks and backends.
func onHowMany(g *foundGroup) string {
	if g.places.all() == 0 {
		on := make(map[inspect.ID]bool)
		for _, f := range g.Shown {
			on[f.on] = true
		}
		for id := range on {
			g.places.add(id, 1)
		}
	}
	where := g.places.String()
	if g.places.all() < len(g.Shown) {
		return describe.Thousands(len(g.Shown)) + " on " + where
	}
	return "on " + where
}

func (s *Screen) onCell(f *found) widget.Line {
	t := s.Theme()
	if f.aboutBackend() {
		return widget.Line{{describe.Printable(f.on.Backend), t.Text}}
	}
	l := widget.Line{{describe.Printable(f.on.Backend) + ":", t.Muted}, {inspect.Escape(f.on.Path), t.Text}}
	if len(f.cycle) > 1 {
		l = l.Add(t.Muted, fmt.Sprintf(" +%d", len(f.cycle)-1))
	}
	return l
}

// age is the time since a finding was first reported. The problem itself may be older.
func (s *Screen) age(f *found) string { return describe.Seconds(s.Now().Sub(f.since)) }

// severities counts the findings by severity and the muted ones, and marks a partial view.
func (s *Screen) severities(counts map[inspect.Severity]int, muted int, partial bool) widget.Line {
	t, word := s.Theme(), " partial view"
	if s.width < 60 {
		word = " partial"
	}
	critical, warnings, info := counts[inspect.Critical], counts[inspect.Warning], counts[inspect.Info]
	var l widget.Line
	l = l.Part(critical > 0, t, t.Critical,
		fmt.Sprintf("%s %s critical", t.Glyphs.Critical, describe.Thousands(critical)))
	l = l.Part(warnings > 0, t, t.Warning, t.Glyphs.Warning+" "+describe.Count(warnings, "warning"))
	l = l.Part(info > 0, t, t.Info, fmt.Sprintf("%s %s info", t.Glyphs.Info, describe.Thousands(info)))
	l = l.Part(muted > 0, t, t.Faint, describe.Thousands(muted)+" muted")
	l = l.Part(len(l) == 0 && s.Arrived(), t, t.Strong, "no findings")
	return l.Part(partial, t, t.Unknown, t.Glyphs.Unknown+word)
}

func (s *Screen) summary() widget.Line {
	t := s.Theme()
	dot := " " + t.Glyphs.Dot + " "
	counts := map[inspect.Severity]int{}
	all, unseen, shown, muted := 0, 0, 0, 0
	for _, g := range s.Index.groups {
		shown += len(g.Shown)
		all += g.count
		switch {
		case g.muted:
			muted += g.count
		case g.Rule == blindRule:
			unseen += g.count
		default:
			counts[g.severity] += g.count
		}
	}
	matched := widget.Line{{describe.Thousands(shown) + " of " + describe.Count(all, "finding"), t.Strong}}
	if l := s.input.Prompt(t, "words: rule, lock, message...", matched, s.width); l != nil {
		return l
	}
	left := append(widget.Line{{" ", t.Text}}, s.severities(counts, muted, unseen > 0 || screen.BlindBackends(s))...)
	if all == 0 {
		left = left.Add(t.Muted, dot+describe.Count(s.Snapshot().Len(), "lock"))
	}
	for _, of := range []string{" " + s.Index.where(), ""} {
		total := widget.Line{{" " + describe.Count(all, "finding"), t.Strong}, {of + ": ", t.Muted}}
		if all > 0 && total.Width()+left.Width() < s.width {
			left = append(total, left[1:]...)
			break
		}
	}
	if scanned, busy := screen.Scanned(s); busy {
		left = left.Add(t.Waiting, dot).Add(t.Waiting, fmt.Sprintf("still scanning, %d so far", scanned))
	}
	left = widget.Whole(left, s.width-1)
	right := s.input.View(t, s.width)
	if len(right) == 0 && s.Index.order != (order{}) {
		right = widget.Line{{"sort: ", t.Muted}, {s.Index.order.String() + " ", t.Text}}
	}
	return widget.KeepRight(left, right, s.width, t.Glyphs.Ellipsis)
}

// emptyLines explain an empty list, and name blind spots.
func (s *Screen) emptyLines(width int) []widget.Line {
	t := s.Theme()
	say := func(style theme.Style, texts ...string) []widget.Line {
		var lines []widget.Line
		for _, text := range texts {
			for _, part := range widget.Wrap(text, width-6, 3, t.Glyphs.Ellipsis) {
				lines = append(lines, widget.Line{{"   " + part, style}})
			}
		}
		return lines
	}
	if s.input.Text() != "" && len(s.Index.byID) > 0 {
		return append([]widget.Line{nil},
			append(say(t.Text, "No finding matches the filter."), say(t.Muted, "esc shows all of them.")...)...)
	}
	if !s.Arrived() {
		return append([]widget.Line{nil},
			append(say(t.Text, "Nothing is known yet."), say(t.Muted, "No server has answered so far.")...)...)
	}
	lines := append([]widget.Line{nil}, say(t.Text, "Nothing wrong that we can see.")...)
	if scanned, busy := screen.Scanned(s); busy {
		lines = append(lines, say(t.Muted, fmt.Sprintf("Still scanning: %d directories and keys so far.", scanned))...)
	}
	if !screen.BlindBackends(s) {
		return lines
	}
	lines = append(append(lines, nil), say(t.Unknown, "What we cannot see:")...)
	for _, b := range s.Snapshot().Backends {
		if b.State != inspect.Connected {
			sign := screen.BackendSign(t, b.State)
			lines = append(lines, widget.Line{
				{"   " + sign.Text + " " + describe.Printable(b.Name) + " is " + string(b.State), sign.Style},
				{"  " + describe.Trouble(b), t.Text},
			})
		}
	}
	return lines
}

// details describe the selection in at most height lines.
func (s *Screen) details(width, height int) []string {
	t := s.Theme()
	body := s.detailLines(width)
	head := s.detailHead(width)
	room := max(0, height-len(head))
	s.text.Top = max(0, min(s.text.Top, len(body)-room))
	s.over = max(0, len(body)-room-s.text.Top)
	if s.over > 0 || s.inDetails {
		head[0] = s.detailRule(width)
	}
	var out []string
	for _, l := range append(head, body[s.text.Top:min(len(body), s.text.Top+room)]...) {
		out = append(out, l.Render(width, t.Glyphs.Ellipsis, nil))
	}
	return out
}

// detailHead is the line above the details; empty if they are next to the list.
func (s *Screen) detailHead(width int) []widget.Line {
	if s.sideBySide() {
		return []widget.Line{nil}
	}
	return []widget.Line{s.detailRule(width)}
}

// detailRule names the key that shows the remaining details.
func (s *Screen) detailRule(width int) widget.Line {
	t := s.Theme()
	name := "selected"
	style := t.Muted
	switch {
	case s.inDetails && s.text.Top+s.over > 0:
		name, style = fmt.Sprintf("selected %s %s arrows move, tab: to the list", t.Glyphs.Dot,
			t.Glyphs.Up+t.Glyphs.Down), t.Waiting
	case s.inDetails:
		name, style = "selected "+t.Glyphs.Dot+" all of it is shown, "+"tab"+": to the list", t.Waiting
	case s.over > 0:
		name = fmt.Sprintf("selected %s %s %s, tab", t.Glyphs.Dot, t.Glyphs.Down, describe.Count(s.over, "more line"))
	}
	return widget.Divider(t, width, name, style)
}
