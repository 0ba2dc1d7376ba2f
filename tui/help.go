package tui

import (
	"fmt"
	"strings"

	"lockscope/inspect/describe"
	"lockscope/theme"
	"lockscope/tui/screen"
	"lockscope/tui/widget"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// help lists the keys of a screen and those that work everywhere, from the same actions that they run, and what the signs
// mean: side by side where the window is wide. It scrolls where the window is too low, and searches.
type help struct {
	*world
	here, everywhere []screen.Action
	title            string
	text             widget.Scroller
	// all are the lines as they were last laid out, of which rows are in sight; laid says for what.
	all  []widget.Line
	rows int
	laid helpLayout
	// field holds the searched text; typing: keys go there.
	field  widget.Field
	typing bool
}

// helpLayout is all that the lines depend on.
type helpLayout struct {
	width  int
	theme  *theme.Theme
	sought string
	typing bool
}

func newHelp(w *world, title string, here, everywhere []screen.Action) *help {
	return &help{world: w, title: title, here: here, everywhere: everywhere}
}

// Update scrolls and searches; any key that usually leaves something closes the help.
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
			return nil, false
		}
		_, _ = screen.Press(h, screen.Moves(h.scroll, func() int { return h.rows }), msg.String())
	}
	return nil, false
}

// search takes a key of what is searched.
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

// helpColumn is the width of a column of the help; two stand side by side where both have room.
const helpColumn = 88

func (h *help) width(width int) int {
	if width-4 >= twoColumns {
		return min(width-4, 2*helpColumn)
	}
	return min(width-4, helpColumn)
}

// twoColumns is the width from which there are two.
const twoColumns = 110

// SetSize lays the text out.
func (h *help) SetSize(width, height int) {
	h.rows = height - 2
	if now := (helpLayout{h.width(width), h.theme, h.field.Value(), h.typing}); now != h.laid || h.typing { // the field has a cursor
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
		lines = append(lines[:h.rows-1:h.rows-1], widget.Line{{fmt.Sprintf("%s %d more lines", t.Glyphs.Down, more+1), t.Waiting}})
	}
	return widget.Box(t, lines, width, height, false)
}

func (h *help) lines(width int) []widget.Line {
	t := h.theme
	heading := widget.Line{{"Keys of this screen: ", t.Strong}, {h.title, t.Strong}}
	column := width
	two := width >= twoColumns-4
	if two {
		column = width/2 - 2
	}
	keys := 0
	for _, list := range [][]screen.Action{h.here, h.everywhere} {
		for _, a := range list {
			keys = max(keys, ansi.StringWidth(screen.KeysIn(t, a.Shown)))
		}
	}
	left := append([]widget.Line{heading, nil}, h.actionLines(h.here, keys, column)...)
	right := append([]widget.Line{{{"Everywhere", t.Strong}}, nil}, h.actionLines(h.everywhere, keys, column)...)
	right = append(right, nil, widget.Line{{"Signs", t.Strong}}, nil)
	right = append(right, h.legend()...)
	var lines []widget.Line
	if h.typing || h.field.Value() != "" {
		lines = append(lines, append(widget.Line{{"/ ", t.Key}}, h.field.View(t, width-4)...), nil)
	}
	if !two {
		return append(append(append(lines, left...), nil), right...)
	}
	for i := range max(len(left), len(right)) {
		var l widget.Line
		if i < len(left) {
			l = left[i]
		}
		l = l.Align(column+4, false, t.Glyphs.Ellipsis)
		if i < len(right) {
			l = append(l, right[i]...)
		}
		lines = append(lines, l)
	}
	return lines
}

// matches reports whether an action has what is searched.
func (h *help) matches(a *screen.Action) bool {
	sought := strings.ToLower(strings.TrimSpace(h.field.Value()))
	return sought == "" || strings.Contains(strings.ToLower(a.Shown+" "+a.Hint+" "+a.Help), sought)
}

func (h *help) actionLines(actions []screen.Action, keys, width int) []widget.Line {
	t := h.theme
	var lines []widget.Line
	for _, a := range actions {
		if a.Help == "" || !h.matches(&a) {
			continue
		}
		lead := widget.Line{{screen.KeysIn(t, a.Shown), t.Key}}.Align(keys+2, false, "")
		style, text := t.Text, a.Help
		if a.Writes {
			text = t.Glyphs.Warning + " " + text
			style = t.Warning
		}
		if a.Why() != "" {
			style = t.Muted
		}
		for _, part := range widget.Wrap(text, width-keys-2, 9, t.Glyphs.Ellipsis) {
			lines = append(lines, append(lead, widget.Span{part, style}))
			lead = widget.Line{}.Align(keys+2, false, "")
		}
	}
	return lines
}

func (h *help) legend() []widget.Line {
	t, g := h.theme, h.theme.Glyphs
	return []widget.Line{
		widget.Line{}.Add(t.Holding, g.Holding).Add(t.Muted, " holds   ").
			Add(t.Waiting, g.Waiting).Add(t.Muted, " waits   ").
			Add(t.Waiting, g.Pending).Add(t.Muted, " pending, partial   ").
			Add(t.Free, g.Free).Add(t.Muted, " free, absent   ").
			Add(t.Unknown, g.Unknown).Add(t.Muted, " unknown"),
		widget.Line{}.Add(t.Critical, g.Critical).Add(t.Muted, " critical   ").
			Add(t.Warning, g.Warning).Add(t.Muted, " warning   ").
			Add(t.Waiting, g.WatchConfirmed).Add(t.Muted, " watches   ").
			Add(t.Muted, g.WatchExpected+" should watch   ").
			Add(t.Critical, g.WatchMissing).Add(t.Muted, " does not watch"),
		widget.Line{}.Add(t.Strong, g.AtMost).Add(t.Muted, " at most   ").Add(t.Strong, g.AtLeast).Add(t.Muted, " at least: its beginning was not seen"),
		widget.Line{}.Add(t.Strong, g.Translate(describe.About.Sign())).Add(t.Muted, " about: by a clock that was not compared with ours"),
	}
}
