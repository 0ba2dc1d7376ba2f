package tui

import (
	"fmt"

	"lockscope/tui/screen"
	"lockscope/tui/widget"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// help lists the keys of a screen and those that work everywhere, from the same actions that they run, and what the signs
// mean. It scrolls where the window is too low.
type help struct {
	*world
	here, everywhere []screen.Action
	title            string
	text             widget.Scroller
	// rows lines of all were in sight when it was last drawn.
	rows, all int
}

func newHelp(w *world, title string, here, everywhere []screen.Action) *help {
	return &help{world: w, title: title, here: here, everywhere: everywhere}
}

// Update scrolls; any key that usually leaves something closes the help.
func (h *help) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		h.scroll(screen.Wheel(msg))
	case tea.KeyPressMsg:
		switch msg.String() {
		case "esc", "?", "q", "enter":
			return nil, true
		}
		_, _ = screen.Press(h, screen.Moves(h.scroll, func() int { return h.rows }), msg.String())
	}
	return nil, false
}

func (h *help) scroll(by int) { h.text.Scroll(by, h.all, h.rows) }

// SetSize lays the text out.
func (h *help) SetSize(width, height int) {
	h.rows, h.all = height-2, len(h.lines(min(width-4, 88)))
	h.scroll(0)
}

func (h *help) Actions() []screen.Action {
	if h.all > h.rows {
		return []screen.Action{{Shown: "esc", Hint: "close"}, {Shown: "up/down", Hint: "scroll"}}
	}
	return []screen.Action{{Shown: "esc", Hint: "close"}}
}

func (h *help) View(width, height int) string {
	t := h.theme
	width = min(width-4, 88)
	lines := h.lines(width)[h.text.Top:]
	if more := len(lines) - h.rows; more > 0 {
		lines = append(lines[:h.rows-1:h.rows-1], widget.Line{{fmt.Sprintf("%s %d more lines", t.Glyphs.Down, more+1), t.Waiting}})
	}
	return widget.Box(t, lines, width, height, false)
}

func (h *help) lines(width int) []widget.Line {
	t := h.theme
	keys := 0
	for _, list := range [][]screen.Action{h.here, h.everywhere} {
		for _, a := range list {
			keys = max(keys, ansi.StringWidth(a.Shown))
		}
	}
	lines := []widget.Line{{{"Keys of this screen: ", t.Strong}, {h.title, t.Strong}}, nil}
	lines = append(lines, h.actionLines(h.here, keys, width)...)
	lines = append(lines, nil, widget.Line{{"Everywhere", t.Strong}}, nil)
	lines = append(lines, h.actionLines(h.everywhere, keys, width)...)
	lines = append(lines, nil, widget.Line{{"Signs", t.Strong}}, nil)
	return append(lines, h.legend()...)
}

func (h *help) actionLines(actions []screen.Action, keys, width int) []widget.Line {
	t := h.theme
	var lines []widget.Line
	for _, a := range actions {
		if a.Help == "" {
			continue
		}
		lead := widget.Line{{a.Shown, t.Key}}.Align(keys+2, false, "")
		style, text := t.Text, a.Help
		if a.Writes {
			text = t.Glyphs.Warning + " " + text
			style = t.Warning
		}
		if a.Why() != "" {
			style = t.Muted
		}
		for _, part := range widget.Wrap(text, width-keys-2, 4, t.Glyphs.Ellipsis) {
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
			Add(t.Waiting, g.Pending).Add(t.Muted, " pending   ").
			Add(t.Free, g.Free).Add(t.Muted, " free, absent   ").
			Add(t.Unknown, g.Unknown).Add(t.Muted, " could not look"),
		widget.Line{}.Add(t.Critical, g.Critical).Add(t.Muted, " critical   ").
			Add(t.Warning, g.Warning).Add(t.Muted, " warning   ").
			Add(t.Waiting, g.WatchConfirmed).Add(t.Muted, " watches   ").
			Add(t.Muted, g.WatchExpected+" should watch   ").
			Add(t.Critical, g.WatchMissing).Add(t.Muted, " does not watch"),
	}
}
