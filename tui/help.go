package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// help lists the keys of a screen and those that work everywhere, from the same actions that they run, and what the signs
// mean. It scrolls where the window is too low.
type help struct {
	*world
	here, everywhere []action
	title            string
	top              int
	// rows and all are how many lines were in sight at last, and of how many.
	rows, all int
}

func newHelp(w *world, title string, here, everywhere []action) *help {
	return &help{world: w, title: title, here: here, everywhere: everywhere}
}

// Update scrolls; any key that usually leaves something closes the help.
func (h *help) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		h.scroll(wheel(msg))
	case tea.KeyPressMsg:
		switch msg.String() {
		case "esc", "?", "q", "enter":
			return nil, true
		}
		_, _ = runKey(h, moves(h.scroll, func() int { return h.rows }), msg.String())
	}
	return nil, false
}

func (h *help) scroll(by int) { h.top = max(0, min(h.top+by, h.all-h.rows)) }

func (h *help) Actions() []action {
	if h.all > h.rows {
		return []action{{shown: "esc", hint: "close"}, {shown: "up/down", hint: "scroll"}}
	}
	return []action{{shown: "esc", hint: "close"}}
}

func (h *help) View(width, height int) string {
	t := h.theme
	width = min(width-4, 88)
	lines := h.lines(width)
	h.rows, h.all = height-2, len(lines)
	h.scroll(0)
	lines = lines[h.top:]
	if more := len(lines) - h.rows; more > 0 {
		lines = append(lines[:h.rows-1:h.rows-1], line{{fmt.Sprintf("%s %d more lines", t.Glyphs.Down, more+1), t.Waiting}})
	}
	return box(t, lines, width, height, false)
}

func (h *help) lines(width int) []line {
	t := h.theme
	keys := 0
	for _, list := range [][]action{h.here, h.everywhere} {
		for _, a := range list {
			keys = max(keys, ansi.StringWidth(a.shown))
		}
	}
	lines := []line{{{"Keys of this screen: ", t.Strong}, {h.title, t.Strong}}, nil}
	lines = append(lines, h.actionLines(h.here, keys, width)...)
	lines = append(lines, nil, line{{"Everywhere", t.Strong}}, nil)
	lines = append(lines, h.actionLines(h.everywhere, keys, width)...)
	lines = append(lines, nil, line{{"Signs", t.Strong}}, nil)
	return append(lines, h.legend()...)
}

func (h *help) actionLines(actions []action, keys, width int) []line {
	t := h.theme
	var lines []line
	for _, a := range actions {
		if a.help == "" {
			continue
		}
		lead := line{{a.shown, t.Key}}.align(keys+2, false, "")
		style, text := t.Text, a.help
		if a.writes {
			text = t.Glyphs.Warning + " " + text
			style = t.Warning
		}
		if a.why() != "" {
			style = t.Muted
		}
		for _, part := range wrap(text, width-keys-2, 4, t.Glyphs.Ellipsis) {
			lines = append(lines, append(lead, span{part, style}))
			lead = line{}.align(keys+2, false, "")
		}
	}
	return lines
}

func (h *help) legend() []line {
	t, g := h.theme, h.theme.Glyphs
	return []line{
		line{}.add(t.Holding, g.Holding).add(t.Muted, " holds   ").
			add(t.Waiting, g.Waiting).add(t.Muted, " waits   ").
			add(t.Waiting, g.Pending).add(t.Muted, " pending   ").
			add(t.Free, g.Free).add(t.Muted, " free, absent   ").
			add(t.Unknown, g.Unknown).add(t.Muted, " could not look"),
		line{}.add(t.Critical, g.Critical).add(t.Muted, " critical   ").
			add(t.Warning, g.Warning).add(t.Muted, " warning   ").
			add(t.Waiting, g.WatchConfirmed).add(t.Muted, " watches   ").
			add(t.Muted, g.WatchExpected+" should watch   ").
			add(t.Critical, g.WatchMissing).add(t.Muted, " does not watch"),
	}
}
