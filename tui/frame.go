package tui

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// frame draws the window around the screen in front, and handles clicks in it.
type frame struct{ *Model }

// View draws the whole window; it is the only maker of a tea.View.
func (m *Model) View() tea.View {
	v := tea.NewView(frame{m}.content())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.BackgroundColor, v.ForegroundColor = m.theme.Paper, m.theme.Ink
	v.WindowTitle = "lockscope"
	if m.options.Title != "" {
		v.WindowTitle += " - " + describe.Printable(m.options.Title)
	}
	return v
}

func (f frame) content() string {
	if f.small() {
		return f.tooSmall()
	}
	page := strings.Join(slices.Concat(f.head(), []string{f.front().View()}, f.foot()), "\n")
	if !f.HasDialog() {
		return page
	}
	box := f.top().View(f.dialogSize())
	x, y := (f.width-lipgloss.Width(box))/2, (f.height-footLines-lipgloss.Height(box)+1)/2
	over := lipgloss.NewLayer(box).X(max(0, x)).Y(max(0, y)).Z(1)
	canvas := canvases.Get().(*lipgloss.Canvas)
	defer canvases.Put(canvas)
	canvas.Resize(f.width, f.height)
	canvas.Clear()
	return canvas.Compose(lipgloss.NewCompositor(lipgloss.NewLayer(page), over)).Render()
}

// canvases are reused: a new one for each frame takes more memory than the rest of the frame.
var canvases = sync.Pool{New: func() any { return lipgloss.NewCanvas(0, 0) }}

func (f frame) tooSmall() string {
	width, height, what := minWidth, minHeight, "lockscope"
	if f.width >= minWidth && f.height >= minHeight {
		width, height, what = roomyWidth, roomyHeight, "this"
	}
	need := []string{
		fmt.Sprintf("%s needs a window of", what),
		fmt.Sprintf("at least %dx%d. This one is %dx%d.", width, height, f.width, f.height),
	}
	words := ""
	if f.escapable() {
		words = "\nesc goes back."
	}
	switch held, waiting := f.inHand(); {
	case held > 0:
		words += fmt.Sprintf("\nYou %s.\nctrl+c releases and quits.", handWords(held, waiting))
	case waiting > 0:
		words += fmt.Sprintf("\nYou %s.\nctrl+c quits.", handWords(held, waiting))
	}
	for _, l := range f.losses {
		words += "\nLOST: " + text.Middle(l.Lock.String(), max(8, f.width-6), f.theme.Glyphs.Ellipsis)
	}
	return lipgloss.Place(f.width, f.height, lipgloss.Center, lipgloss.Center, f.notice(need, words))
}

// notice is a text that fits into any window, however small. If need does not fit, it is "too
// small".
func (f frame) notice(need []string, more string) string {
	wrapped := func(lines []string) (out []string) {
		for _, line := range lines {
			out = append(out, widget.Wrap(line, f.width, max(1, f.height), f.theme.Glyphs.Ellipsis)...)
		}
		return out
	}
	rest := wrapped(strings.Split(more, "\n")[1:])
	lines := append(wrapped(need), rest...)
	if len(lines) > f.height {
		lines = append(wrapped([]string{"too small"}), rest...)
	}
	return strings.Join(lines[:min(len(lines), max(1, f.height))], "\n")
}

// head is the title bar and a rule that names the backends in trouble. It always has the same
// height, so that the rows below do not move.
func (f frame) head() []string {
	if l := f.troubles(); l != nil {
		return []string{f.titleBar(), f.inRule(l, "")}
	}
	return []string{f.titleBar(), f.rule()}
}

func (f frame) rule() string {
	return f.theme.Faint.Render(strings.Repeat(f.theme.Glyphs.Rule, f.width))
}

// inRule is a rule with words at its start, and with end at its end if both fit.
func (f frame) inRule(words widget.Line, end string) string {
	t, rule, tail := f.theme, f.theme.Glyphs.Rule, f.theme.Glyphs.Ellipsis
	var last widget.Line
	if end != "" && (len(words) == 0 || words.Width()+ansi.StringWidth(end)+5 <= f.width) {
		last = widget.Line{{" " + end + " ", t.Muted}, {rule + rule, t.Faint}}
	}
	var l widget.Line
	if len(words) > 0 {
		l = append(l, words.Cut(max(1, f.width-last.Width()-2), tail)...).Add(t.Text, " ")
	}
	l = l.Add(t.Faint, strings.Repeat(rule, max(0, f.width-l.Width()-last.Width())))
	return append(l, last...).Render(f.width, tail, nil)
}

// foot is a rule, the caption if there is one, and the keys. The rule shows the latest message, and
// the cursor's position in a long list.
func (f frame) foot() []string {
	lines := []string{f.footRule()}
	return append(append(append(lines, f.captionLines()...), f.pastLine()...), f.hints())
}

func (f frame) footRule() string {
	where := ""
	if l, ok := f.front().(screen.Scrolling); ok {
		if at, of, rows := l.ScrollPosition(); of > rows {
			where = fmt.Sprintf("%d of %d", at+1, of)
		}
	}
	if tour := f.tourWords(); tour != "" && where != "" {
		where = tour + " " + f.theme.Glyphs.Dot + " " + where
	} else if tour != "" {
		where = tour
	}
	words := f.lossLine()
	if words == nil && f.flashText != "" {
		words = widget.Line{{" " + f.theme.Glyphs.Breadcrumb + " ", f.theme.Warning}, {f.flashText, f.theme.Strong}}
	}
	return f.inRule(words, where)
}

// captionLines are the caption's title and text, in at most two lines. With scenes there are
// always two, so that nothing jumps.
func (f frame) captionLines() []string {
	t := f.theme
	title, text := f.caption()
	if text == "" || f.small() {
		return nil
	}
	head := widget.Line{{" " + t.Glyphs.Breadcrumb + " ", t.Waiting}}
	if title != "" {
		keys := "←→ "
		if t.Options.ASCII {
			keys = "left/right "
		}
		head = widget.Line{
			{" " + keys, t.Key}, {describe.Printable(title) + " ", t.Waiting}, {t.Glyphs.Dot + " ", t.Muted},
		}
	}
	var lines []string
	words := strings.Repeat("_", head.Width()-3) + describe.Printable(text)
	for _, part := range widget.Wrap(words, f.width-4, 2, t.Glyphs.Ellipsis) {
		if len(lines) == 0 {
			part = part[head.Width()-3:]
		} else {
			head = widget.Line{{"   ", t.Text}}
		}
		lines = append(lines, head.Add(t.Text, part).Render(f.width, t.Glyphs.Ellipsis, nil))
	}
	if title != "" && len(lines) < 2 {
		lines = append(lines, "")
	}
	return lines
}

// place is the breadcrumb without the program: home and the current screen, or only the screen if
// both do not fit.
func (f frame) place(room int) widget.Line {
	t, home := f.theme, f.backStack[0].Screen
	here := widget.Line{{" " + t.Glyphs.Breadcrumb + " ", t.Muted}, {f.front().Title(), t.Strong}}
	both := append(widget.Line{{" " + f.screens[home].Title(), t.Muted}}, here...)
	if f.inFront != home && both.Width() <= room {
		return both
	}
	return here
}

// breadcrumb is the start of the title bar: the program, its targets, and the place.
func (f frame) breadcrumb() widget.Line {
	t := f.theme
	left := widget.Line{{" lockscope ", t.Title}}
	if f.options.Environment != "" {
		style := t.Badge
		if f.options.Environment == "production" {
			style = t.BadgeCritical
		}
		left = left.Add(style, " "+describe.Printable(f.options.Environment)+" ").Add(t.Text, " ")
	}
	if f.options.Title != "" {
		left = left.Add(t.Text, describe.Printable(f.options.Title)+" ")
	}
	part := func(style theme.Style, name string) {
		left = left.Add(t.Muted, t.Glyphs.Breadcrumb+" ").Add(style, name+" ")
	}
	home := f.backStack[0].Screen
	if f.inFront == home {
		part(t.Strong, f.screens[home].Title())
		return left
	}
	part(t.Muted, f.screens[home].Title())
	part(t.Strong, f.front().Title())
	return left
}

// widest is the width of the longest breadcrumb. The rest of the title is cut to fit it, so that
// its form only depends on the window's size.
func (f frame) widest(left widget.Line) int {
	const longest = len("timeline")
	if f.inFront == f.backStack[0].Screen {
		return left.Width() + longest + len("> ") + 1
	}
	return left.Width() - ansi.StringWidth(f.front().Title()) + longest
}

// aboutPart is the screen's lock, cut to the room.
func (f frame) aboutPart(room int) widget.Line {
	about := f.front().Selected().Lock.String()
	if f.front().Selected().Lock.Path == "" || f.inFront != screen.Chain && f.inFront != screen.Timeline {
		return nil
	}
	t, room := f.theme, min(room-len("> "), f.width/4)
	if room < 30 && ansi.StringWidth(about) > room { // the screen's first line shows it in full
		return nil
	}
	return widget.Line{
		{t.Glyphs.Breadcrumb + " ", t.Muted}, {text.Middle(about, room, t.Glyphs.Ellipsis) + " ", t.Text},
	}
}

// titleBar draws the parts of the title.
func (f frame) titleBar() string {
	left, backends, badges := f.titleParts()
	tail := f.theme.Glyphs.Ellipsis
	l := widget.Spread(left, slices.Concat(backends, f.badgeLine(badges)), f.width, tail)
	return l.Render(f.width, tail, nil)
}

// titleParts are the place, the backends' states with our load on them, and badges (read-only,
// paused). Parts that do not fit are left out, the least important first.
func (f frame) titleParts() (left, backends widget.Line, badges []badge) {
	left, badges = f.breadcrumb(), f.badges()
	signs := f.backendSigns(signMode)
	for _, middle := range []widget.Line{
		slices.Concat(signs, f.cost(true)), slices.Concat(signs, f.cost(false)),
		slices.Concat(f.backendSigns(signCount), f.cost(false)), signs, f.backendSigns(signCount),
		f.backendSigns(signOnly),
	} {
		if rest := f.width - middle.Width() - f.badgeLine(badges).Width(); f.widest(left)+widget.Gap <= rest {
			return append(left, f.aboutPart(rest-left.Width()-widget.Gap)...), middle, badges
		}
	}
	const least = 12 // cells of the place
	// The first badge (PAUSED or PAST) stays the longest, and then the last one.
	for f.badgeLine(badges).Width()+least+widget.Gap > f.width && len(badges) > 1 {
		at := max(1, len(badges)-2)
		badges = slices.Delete(badges, at, at+1)
	}
	room := max(least, f.width-f.badgeLine(badges).Width()-widget.Gap)
	if f.options.Environment == "" && left.Width() > room {
		left = f.place(room)
	}
	return left.Cut(room, f.theme.Glyphs.Ellipsis), nil, badges
}

// badge is a state that changes the meaning of the screen or of keys, with the action for a
// click.
type badge struct {
	widget.Span
	click func() tea.Cmd
}

func (f frame) badgeLine(badges []badge) (l widget.Line) {
	for _, b := range badges {
		l = append(l, b.Span).Add(f.theme.Text, " ")
	}
	return l
}

// badges returns the badges, the most important first.
func (f frame) badges() (list []badge) {
	t := f.theme
	add := func(style theme.Style, text string, click func() tea.Cmd) {
		list = append(list, badge{widget.Span{Text: " " + text + " ", Style: style}, click})
	}
	say := func(text string) func() tea.Cmd { return screen.Do(func() { f.Flash(text) }) }
	toLab := screen.Do(func() { f.Go(screen.Lab, f.subjectFor(screen.Lab)) })
	switch {
	case f.filmed(): // its own line and the badge REPLAY say so
	case f.inPast():
		add(t.BadgeWarning, "PAST", f.pause)
	case f.paused:
		add(t.BadgeWarning, "PAUSED: space resumes", f.pause)
	}
	held, waiting := f.inHand()
	if held > 0 {
		add(t.BadgeWarning, fmt.Sprintf("HOLDING %d", held), toLab)
	}
	if waiting > 0 {
		add(t.Badge.Inherit(t.Waiting), fmt.Sprintf("WAITING %d", waiting), toLab)
	}
	if f.options.Sandbox {
		add(t.Badge.Inherit(t.Waiting), "SANDBOX",
			say("these servers run inside this program: try anything"))
	}
	if f.options.Replay {
		add(t.BadgeWarning, "REPLAY", f.pause)
	}
	switch why := f.MayAct(); {
	case why != "" && f.may.own:
		add(t.BadgeWarning, "OWN LOCKS", say("the Lab may write until its locks and runs are over; other locks are read-only"))
		return list
	case why != "":
		add(t.Badge, "READ-ONLY", say(why))
		return list
	}
	add(t.BadgeWarning, "WRITE",
		say("writing is allowed: x, X, a, A and K ask first, r does not; :read-only forbids it again"))
	return list
}

// signDetail is the length of a backend's sign in the title bar.
type signDetail int

const (
	signOnly  signDetail = iota // its state
	signCount                   // the number of servers that are up, too
	signMode                    // and how changes reach us
)

// backendSigns shows each backend's name and state.
func (f frame) backendSigns(detail signDetail) widget.Line {
	t := f.theme
	var l widget.Line
	for _, b := range f.snapshot.Backends {
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

// cost is our total load on all backends.
func (f frame) cost(watches bool) widget.Line {
	if len(f.snapshot.Backends) == 0 {
		return nil
	}
	rate, count := 0.0, 0
	for _, b := range f.snapshot.Backends {
		rate += describe.Load(b.Cost)
		count += b.Cost.Watches
	}
	text := "our load " + describe.PerSecond(rate)
	if watches {
		text += fmt.Sprintf(" %s %s", f.theme.Glyphs.Dot,
			strings.Replace(describe.Count(count, "watch"), "watchs", "watches", 1))
	}
	return widget.Line{{text + "  ", f.theme.Muted}}
}

// hints are the keys of the screen or dialog in front, as many as fit.
func (f frame) hints() string {
	var l widget.Line
	for _, h := range f.shownHints() {
		l = append(l, h.Line...)
	}
	return l.Render(f.width, "", nil)
}
