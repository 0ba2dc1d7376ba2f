package tui

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/text"
	"lockscope/tui/screen"
	"lockscope/tui/widget"
)

// View draws the whole window; it is the only maker of a tea.View.
func (m *Model) View() tea.View {
	v := tea.NewView(m.content())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.BackgroundColor, v.ForegroundColor = m.theme.Paper, m.theme.Ink
	v.WindowTitle = "lockscope"
	if m.options.Title != "" {
		v.WindowTitle += " - " + describe.Printable(m.options.Title)
	}
	return v
}

func (m *Model) content() string {
	if m.small() {
		return m.tooSmall()
	}
	page := strings.Join(slices.Concat(m.head(), []string{m.front().View()}, m.foot()), "\n")
	if !m.HasDialog() {
		return page
	}
	box := m.top().View(m.dialogSize())
	x, y := (m.width-lipgloss.Width(box))/2, (m.height-footLines-lipgloss.Height(box)+1)/2
	return lipgloss.NewCompositor(lipgloss.NewLayer(page), lipgloss.NewLayer(box).X(max(0, x)).Y(max(0, y)).Z(1)).Render()
}

func (m *Model) tooSmall() string {
	width, height, what := minWidth, minHeight, "lockscope"
	if m.width >= minWidth && m.height >= minHeight {
		width, height, what = roomyWidth, roomyHeight, "this"
	}
	words := fmt.Sprintf("%s needs a window of\nat least %dx%d. This one is %dx%d.", what, width, height, m.width, m.height)
	if m.escapable() {
		words += "\nesc goes back."
	}
	switch held, waiting := m.inHand(); {
	case held > 0:
		words += fmt.Sprintf("\nYou %s: ctrl+c releases and quits.", handWords(held, waiting))
	case waiting > 0:
		words += fmt.Sprintf("\nYou %s: ctrl+c quits.", handWords(held, waiting))
	}
	for _, l := range m.losses {
		words += "\nLOST: " + text.Middle(l.Lock.String(), max(8, m.width-6), m.theme.Glyphs.Ellipsis)
	}
	return lipgloss.Place(m.width, m.height, lipgloss.Center, lipgloss.Center, words)
}

// head is the title bar and a rule, in which the backends stand that are in trouble: nothing that happens
// moves the rows below.
func (m *Model) head() []string {
	if l := m.troubles(); l != nil {
		return []string{m.titleBar(), m.inRule(l, "")}
	}
	return []string{m.titleBar(), m.rule()}
}

func (m *Model) rule() string {
	return m.theme.Faint.Render(strings.Repeat(m.theme.Glyphs.Rule, m.width))
}

// inRule is a rule with words at its start, and others at its end where there is room for both.
func (m *Model) inRule(words widget.Line, end string) string {
	t, rule, tail := m.theme, m.theme.Glyphs.Rule, m.theme.Glyphs.Ellipsis
	var last widget.Line
	if end != "" && (len(words) == 0 || words.Width()+ansi.StringWidth(end)+5 <= m.width) {
		last = widget.Line{{" " + end + " ", t.Muted}, {rule + rule, t.Faint}}
	}
	var l widget.Line
	if len(words) > 0 {
		l = append(l, words.Cut(max(1, m.width-last.Width()-2), tail)...).Add(t.Text, " ")
	}
	l = l.Add(t.Faint, strings.Repeat(rule, max(0, m.width-l.Width()-last.Width())))
	return append(l, last...).Render(m.width, tail, nil)
}

// foot is a rule, the caption when there is one, and the keys. In the rule stands what has just happened, and
// where in a long list the cursor is.
func (m *Model) foot() []string {
	lines := []string{m.footRule()}
	return append(append(append(lines, m.captionLines()...), m.pastLine()...), m.hints())
}

func (m *Model) footRule() string {
	where := ""
	if l, ok := m.front().(screen.Scrolling); ok {
		if at, of, rows := l.ScrollPosition(); of > rows {
			where = fmt.Sprintf("%d of %d", at+1, of)
		}
	}
	if tour := m.tourWords(); tour != "" && where != "" {
		where = tour + " " + m.theme.Glyphs.Dot + " " + where
	} else if tour != "" {
		where = tour
	}
	words := m.lossLine()
	if words == nil && m.flashText != "" {
		words = widget.Line{{" " + m.theme.Glyphs.Breadcrumb + " ", m.theme.Warning}, {m.flashText, m.theme.Strong}}
	}
	return m.inRule(words, where)
}

// captionLines are the caption's title and text in at most two lines; always in two where scenes change, so
// that nothing jumps.
func (m *Model) captionLines() []string {
	t := m.theme
	title, text := m.caption()
	if text == "" || m.small() {
		return nil
	}
	head := widget.Line{{" " + t.Glyphs.Breadcrumb + " ", t.Waiting}}
	if title != "" {
		keys := "←→ "
		if t.Options.ASCII {
			keys = "left/right "
		}
		head = widget.Line{{" " + keys, t.Key}}.Add(t.Waiting, describe.Printable(title)+" ").Add(t.Muted, t.Glyphs.Dot+" ")
	}
	var lines []string
	for _, part := range widget.Wrap(strings.Repeat("_", head.Width()-3)+describe.Printable(text), m.width-4, 2, t.Glyphs.Ellipsis) {
		if len(lines) == 0 {
			part = part[head.Width()-3:]
		} else {
			head = widget.Line{{"   ", t.Text}}
		}
		lines = append(lines, head.Add(t.Text, part).Render(m.width, t.Glyphs.Ellipsis, nil))
	}
	if title != "" && len(lines) < 2 {
		lines = append(lines, "")
	}
	return lines
}

// place is a breadcrumb without the program: home and the screen in front, and only this one where there is
// no room for both.
func (m *Model) place(room int) widget.Line {
	t, home := m.theme, m.backStack[0].Screen
	here := widget.Line{{" " + t.Glyphs.Breadcrumb + " ", t.Muted}, {m.front().Title(), t.Strong}}
	if both := append(widget.Line{{" " + m.screens[home].Title(), t.Muted}}, here...); m.inFront != home && both.Width() <= room {
		return both
	}
	return here
}

// breadcrumb is the start of the title bar: the program, what it looks at, and the place, which is home, a
// screen and, where the screen is about one, a lock.
func (m *Model) breadcrumb() widget.Line {
	t := m.theme
	left := widget.Line{{" lockscope ", t.Title}}
	if m.options.Environment != "" {
		style := t.Badge
		if m.options.Environment == "production" {
			style = t.BadgeCritical
		}
		left = left.Add(style, " "+describe.Printable(m.options.Environment)+" ").Add(t.Text, " ")
	}
	if m.options.Title != "" {
		left = left.Add(t.Text, describe.Printable(m.options.Title)+" ")
	}
	part := func(style lipgloss.Style, name string) {
		left = left.Add(t.Muted, t.Glyphs.Breadcrumb+" ").Add(style, name+" ")
	}
	home := m.backStack[0].Screen
	if m.inFront == home {
		part(t.Strong, m.screens[home].Title())
		return left
	}
	part(t.Muted, m.screens[home].Title())
	part(t.Strong, m.front().Title())
	if about := m.front().Selected().Lock; m.width >= 100 && about.Path != "" && (m.inFront == screen.Chain || m.inFront == screen.Timeline) {
		part(t.Text, text.Middle(about.String(), m.width/4, t.Glyphs.Ellipsis))
	}
	return left
}

// titleBar draws the parts of the title.
func (m *Model) titleBar() string {
	left, backends, badges := m.titleParts()
	return widget.Spread(left, slices.Concat(backends, m.badgeLine(badges)), m.width, m.theme.Glyphs.Ellipsis).Render(m.width, m.theme.Glyphs.Ellipsis, nil)
}

// titleParts are the place, the backends' states with our cost to them, and badges (read-only, paused). What
// does not fit is left out, the least important first.
func (m *Model) titleParts() (left, backends widget.Line, badges []badge) {
	left, badges = m.breadcrumb(), m.badges()
	signs := m.backendSigns(signMode)
	for _, middle := range []widget.Line{
		slices.Concat(signs, m.cost(true)), slices.Concat(signs, m.cost(false)), signs, m.backendSigns(signCount), m.backendSigns(signOnly),
	} {
		if left.Width()+middle.Width()+m.badgeLine(badges).Width() < m.width {
			return left, middle, badges
		}
	}
	const least = 12 // cells of the place
	// The first, PAUSED or PAST, stays the longest, then the last.
	for m.badgeLine(badges).Width()+least >= m.width && len(badges) > 1 {
		at := max(1, len(badges)-2)
		badges = slices.Delete(badges, at, at+1)
	}
	room := max(least, m.width-m.badgeLine(badges).Width()-1)
	if m.options.Environment == "" && left.Width() > room {
		left = m.place(room)
	}
	return left.Cut(room, m.theme.Glyphs.Ellipsis), nil, badges
}

// badge is a state that changes what the screen means and what keys may do, with what a click on it does.
type badge struct {
	widget.Span
	click func() tea.Cmd
}

func (m *Model) badgeLine(badges []badge) (l widget.Line) {
	for _, b := range badges {
		l = append(l, b.Span).Add(m.theme.Text, " ")
	}
	return l
}

// badges are the most important first.
func (m *Model) badges() (list []badge) {
	t := m.theme
	add := func(style lipgloss.Style, text string, click func() tea.Cmd) {
		list = append(list, badge{widget.Span{Text: " " + text + " ", Style: style}, click})
	}
	say := func(text string) func() tea.Cmd { return screen.Do(func() { m.Flash(text) }) }
	toLab := screen.Do(func() { m.Go(screen.Lab, m.subjectFor(screen.Lab)) })
	switch {
	case m.filmed(): // its own line and the badge REPLAY say so
	case m.inPast():
		add(t.BadgeWarning, "PAST", m.pause)
	case m.paused:
		add(t.BadgeWarning, "PAUSED: "+"space"+" goes on", m.pause)
	}
	held, waiting := m.inHand()
	if held > 0 {
		add(t.BadgeWarning, fmt.Sprintf("HOLDING %d", held), toLab)
	}
	if waiting > 0 {
		add(t.Badge.Inherit(t.Waiting), fmt.Sprintf("WAITING %d", waiting), toLab)
	}
	if m.options.Sandbox {
		add(t.Badge.Inherit(t.Waiting), "SANDBOX", say("these servers are inside this program: everything may be tried"))
	}
	if m.options.Replay {
		add(t.BadgeWarning, "REPLAY", m.pause)
	}
	if why := m.MayAct(); why != "" {
		add(t.Badge, "READ-ONLY", say(why))
		return list
	}
	add(t.BadgeWarning, "WRITE", say("writing is allowed: x, X, a, A, K and the Lab act, each asks first; :write forbids it again"))
	return list
}

// signDetail is the length of a backend's sign in the title bar.
type signDetail int

const (
	signOnly  signDetail = iota // its state
	signCount                   // the number of servers that are up, too
	signMode                    // and how changes reach us
)

// backendSigns has for each backend its name and state.
func (m *Model) backendSigns(detail signDetail) widget.Line {
	t := m.theme
	var l widget.Line
	for _, b := range m.snapshot.Backends {
		up := 0
		for _, s := range b.Servers {
			if s.State == inspect.ServerUp {
				up++
			}
		}
		sign := screen.BackendSign(t, b.State)
		l = l.Add(t.Text, describe.Printable(b.Name)+" ").Add(sign.Style, sign.Text)
		if detail >= signCount {
			l = l.Add(t.Text, fmt.Sprintf(" %d/%d", up, len(b.Servers)))
		}
		if detail >= signMode {
			l = l.Add(t.Muted, " "+string(b.Mode))
		}
		l = l.Add(t.Text, "  ")
	}
	return l
}

// cost is our own load on all backends together.
func (m *Model) cost(watches bool) widget.Line {
	if len(m.snapshot.Backends) == 0 {
		return nil
	}
	rate, count := 0.0, 0
	for _, b := range m.snapshot.Backends {
		rate += describe.Load(b.Cost)
		count += b.Cost.Watches
	}
	text := "our load " + describe.PerSecond(rate)
	if watches {
		text += fmt.Sprintf(" %s %s", m.theme.Glyphs.Dot, strings.Replace(describe.Count(count, "watch"), "watchs", "watches", 1))
	}
	return widget.Line{{text + "  ", m.theme.Muted}}
}

// hints are the keys of the screen or dialog in front, as many as fit.
func (m *Model) hints() string {
	var l widget.Line
	for _, h := range m.shownHints() {
		l = append(l, h.Line...)
	}
	return l.Render(m.width, m.theme.Glyphs.Ellipsis, nil)
}
