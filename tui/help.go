package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"

	tea "charm.land/bubbletea/v2"
)

// help lists the keys of a screen, the keys that work everywhere, and the signs. It is made from
// the actions that the keys run. It scrolls, and can be searched.
type help struct {
	*world
	here, everywhere []screen.Action
	title            string
	text             widget.Scroller
	// all holds the lines, laid out for laid; rows is how many are visible.
	all  []widget.Line
	rows int
	laid helpLayout
	// field holds the search text. typing is set while keys go there.
	field  widget.Field
	typing bool
}

// helpLayout has everything that the lines depend on.
type helpLayout struct {
	width  int
	theme  *theme.Theme
	sought string
	typing bool
}

func newHelp(w *world, title string, here, everywhere []screen.Action) *help {
	return &help{world: w, title: title, here: here, everywhere: everywhere}
}

// Update scrolls and searches; any key that usually closes a view closes the help.
func (h *help) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		h.scroll(screen.Wheel(msg))
	case tea.KeyPressMsg:
		if h.typing {
			h.search(msg)
			return nil, false
		}
		switch msg.String() {
		case "esc", "?", "q", "enter", "f1":
			return nil, true
		case "/":
			h.typing = true
			h.field.SelectAll()
			return nil, false
		}
		_, _ = screen.Press(h, screen.Moves(h.scroll, func() int { return h.rows }), msg.String())
	}
	return nil, false
}

// search handles a key while the user types a search.
func (h *help) search(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "esc":
		h.typing, h.field = false, widget.Field{}
	case "enter":
		h.typing = false
	default:
		h.field.Press(msg)
	}
	h.text.Top = 0
}

func (h *help) scroll(by int) { h.text.Scroll(by, len(h.all), h.rows) }

// helpColumn is the width of a column of the help; two are side by side, columnGap apart, if the
// width is at least twoColumns.
const helpColumn, twoColumns, columnGap = 88, 110, 2

func (h *help) width(width int) int {
	if width-4 >= twoColumns {
		return min(width-4, 2*helpColumn)
	}
	return min(width-4, helpColumn)
}

// SetSize lays the text out.
func (h *help) SetSize(width, height int) {
	h.rows = height - 2
	now := helpLayout{h.width(width), h.theme, h.field.Value(), h.typing}
	if now != h.laid || h.typing { // the field has a cursor
		h.all, h.laid = h.lines(now.width), now
	}
	h.scroll(0)
}

func (h *help) Actions() []screen.Action {
	list := []screen.Action{{Shown: "esc", Hint: "close"}, {Shown: "/", Hint: "search", Keys: []string{"/"}}}
	if h.typing {
		list = []screen.Action{{Shown: "enter", Hint: "keep"}, {Shown: "esc", Hint: "show all"}}
	}
	if len(h.all) > h.rows {
		list = append(list, screen.Action{Shown: "up/down", Hint: "scroll"})
	}
	return list
}

func (h *help) View(width, height int) string {
	t := h.theme
	width = h.width(width)
	lines := h.all[min(h.text.Top, len(h.all)):]
	if more := len(lines) - h.rows; more > 0 {
		lines = append(lines[:h.rows-1:h.rows-1], widget.Line{{
			fmt.Sprintf("%s %d more lines", t.Glyphs.Down, more+1), t.Waiting,
		}})
	}
	return widget.Box(t, lines, width, height, false)
}

// lines are the screen's keys, the common keys and the signs, in one column or in two of equal
// height.
func (h *help) lines(width int) []widget.Line {
	t, column, two := h.theme, width, width >= twoColumns
	if two {
		column = (width - columnGap) / 2
	}
	var sought []widget.Line
	if h.typing || h.field.Value() != "" {
		sought = append(sought, append(widget.Line{{"/ ", t.Key}}, h.field.View(t, width-4)...), nil)
	}
	entries := slices.Concat(
		section(widget.Line{{"Keys of this screen: " + h.title, t.Strong}}, h.actionEntries(h.here, column)),
		section(h.everywhereHead(),
			h.actionEntries(h.everywhere, column)),
		section(widget.Line{{"Symbols", t.Strong}, {" (lanes have their own legend)", t.Muted}}, h.signs(column)),
	)
	if len(entries) == 0 {
		return append(sought, widget.Line{{"no key or symbol matches", t.Muted}})
	}
	if !two {
		return append(sought, slices.Concat(entries...)[1:]...)
	}
	return append(sought, columns(entries, column, t.Glyphs.Ellipsis)...)
}

// everywhereHead is the heading of the common keys. It explains the mark of keys that write, if
// there are any.
func (h *help) everywhereHead() widget.Line {
	l := widget.Line{{"Everywhere", h.theme.Strong}}
	if slices.ContainsFunc(slices.Concat(h.here, h.everywhere), func(a screen.Action) bool { return a.Writes }) {
		return l.Add(h.theme.Muted, ", (w): writes to servers")
	}
	return l
}

// section puts a blank line and a heading before the first entry, if there is one.
func section(heading widget.Line, entries [][]widget.Line) [][]widget.Line {
	if len(entries) > 0 {
		entries[0] = append([]widget.Line{nil, heading}, entries[0]...)
	}
	return entries
}

// columns puts entries into two columns of equal height, without splitting an entry.
func columns(entries [][]widget.Line, width int, tail string) []widget.Line {
	column := func(some [][]widget.Line) []widget.Line {
		all := slices.Concat(some...)
		if len(all) > 0 && all[0] == nil { // the blank before a heading
			return all[1:]
		}
		return all
	}
	var left, right []widget.Line
	for at := range entries {
		if left, right = column(entries[:at+1]), column(entries[at+1:]); len(left) >= len(right) {
			break
		}
	}
	lines := make([]widget.Line, max(len(left), len(right)))
	for i := range lines {
		if i < len(left) {
			lines[i] = left[i]
		}
		if i < len(right) {
			lines[i] = append(lines[i].Align(width+columnGap, false, tail), right[i]...)
		}
	}
	return lines
}

// matches reports whether texts contain the search.
func (h *help) matches(texts ...string) bool {
	return strings.Contains(strings.ToLower(strings.Join(texts, " ")),
		strings.ToLower(strings.TrimSpace(h.field.Value())))
}

// keysOf returns an action's keys in their shortest known form.
func (h *help) keysOf(a *screen.Action) string {
	return strings.ReplaceAll(screen.KeysIn(h.theme, a.Shown), "ctrl-", "^")
}

// keysWidth is the width of the longest key, in cells. If an action needs more, its keys are
// stacked.
func (h *help) keysWidth() int {
	width := 0
	for _, a := range slices.Concat(h.here, h.everywhere) {
		for _, key := range strings.Fields(h.keysOf(&a)) {
			width = max(width, widget.TextWidth(key))
		}
	}
	return width
}

// actionEntries are the lines of each action.
func (h *help) actionEntries(actions []screen.Action, width int) [][]widget.Line {
	t, keyed := h.theme, h.keysWidth()
	var entries [][]widget.Line
	for _, a := range actions {
		if a.Help == "" || !h.matches(a.Shown, a.Hint, a.Help) {
			continue
		}
		style, text := t.Text, a.Help
		if a.Writes {
			text += " (w)"
			style = t.Warning
		}
		if a.Why() != "" {
			style = t.Muted
		}
		keys := widget.Wrap(h.keysOf(&a), keyed, 9, t.Glyphs.Ellipsis)
		texts := widget.Wrap(text, width-keyed-2, 9, t.Glyphs.Ellipsis)
		var lines []widget.Line
		for i := range max(len(keys), len(texts)) {
			var l widget.Line
			if i < len(keys) {
				l = l.Add(t.Key, keys[i])
			}
			if l = l.Align(keyed+2, false, ""); i < len(texts) {
				l = l.Add(style, texts[i])
			}
			lines = append(lines, l)
		}
		entries = append(entries, lines)
	}
	return entries
}

// signs explain the signs, as many in a line as fit.
func (h *help) signs(width int) [][]widget.Line {
	t, g := h.theme, h.theme.Glyphs
	var entries [][]widget.Line
	for _, sign := range []struct {
		widget.Span
		means string
	}{
		{widget.Span{Text: g.Holding, Style: t.Holding}, "holds, held"},
		{widget.Span{Text: g.Waiting, Style: t.Waiting}, "waits, waited"},
		{widget.Span{Text: g.Pending, Style: t.Waiting}, "pending, partial"},
		{widget.Span{Text: g.Free, Style: t.Free}, "free, absent"},
		{widget.Span{Text: g.Unknown, Style: t.Unknown}, "unknown"},
		{widget.Span{Text: g.Critical, Style: t.Critical}, "critical"},
		{widget.Span{Text: g.Warning, Style: t.Warning}, "warning"},
		{widget.Span{Text: g.Info, Style: t.Info}, "info"},
		{widget.Span{Text: g.Handover, Style: t.Holding}, "handoff"},
		{widget.Span{Text: g.Forced, Style: t.Warning}, "forced"},
		{widget.Span{Text: g.Cleared, Style: t.Holding}, "cleared"},
		{widget.Span{Text: g.Opened, Style: t.Muted}, "open"},
		{widget.Span{Text: g.WatchConfirmed, Style: t.Waiting}, "watches"},
		{widget.Span{Text: g.WatchExpected, Style: t.Muted}, "may watch"},
		{widget.Span{Text: g.WatchMissing, Style: t.Critical}, "no watch"},
		{widget.Span{Text: g.AtMost, Style: t.Strong}, "at most"},
		{widget.Span{Text: g.AtLeast, Style: t.Strong}, "at least; the start was not seen"},
		{
			widget.Span{Text: g.Translate(describe.About.Sign()), Style: t.Strong},
			"about; the clock was not compared with ours",
		},
	} {
		if !h.matches(sign.Text, sign.means) {
			continue
		}
		l := widget.Line{sign.Span, {" " + sign.means, t.Muted}}
		if n := len(entries); n > 0 {
			if last := &entries[n-1][0]; last.Width()+3+l.Width() <= width {
				*last = append(last.Add(t.Text, "   "), l...)
				continue
			}
		}
		entries = append(entries, []widget.Line{l})
	}
	return entries
}
