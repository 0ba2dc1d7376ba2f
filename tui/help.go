package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// help lists the keys of a screen, from the same actions that they run, and what the signs mean.
type help struct {
	*world
	actions []action
}

func newHelp(w *world, actions []action) *help { return &help{w, actions} }

// Update closes the help with any key that usually leaves something.
func (h *help) Update(msg tea.Msg) (tea.Cmd, bool) {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		switch key.String() {
		case "esc", "?", "q", "enter":
			return nil, true
		}
	}
	return nil, false
}

func (h *help) Actions() []action {
	return []action{{shown: "esc", hint: "close"}}
}

func (h *help) View(width, height int) string {
	t := h.theme
	width = min(width-4, 74)
	keys := 0
	for _, a := range h.actions {
		keys = max(keys, ansi.StringWidth(a.shown))
	}
	lines := []line{{{"Keys", t.Strong}}, nil}
	for _, a := range h.actions {
		if a.help == "" {
			continue
		}
		l := line{{a.shown, t.Key}}.align(keys+2, false, "")
		if a.writes {
			l = l.add(t.Warning, t.Glyphs.Warning+" ")
		}
		lines = append(lines, l.add(t.Text, a.help))
	}
	lines = append(lines, nil)
	lines = append(lines, h.legend()...)
	return box(t, lines, width, height, false)
}

func (h *help) legend() []line {
	t, g := h.theme, h.theme.Glyphs
	first := line{}.add(t.Holding, g.Holding).add(t.Muted, " holds   ").
		add(t.Waiting, g.Waiting).add(t.Muted, " waits   ").
		add(t.Waiting, g.Pending).add(t.Muted, " pending   ").
		add(t.Free, g.Free).add(t.Muted, " free, absent   ").
		add(t.Unknown, g.Unknown).add(t.Muted, " could not look")
	second := line{}.add(t.Critical, g.Critical).add(t.Muted, " critical   ").
		add(t.Warning, g.Warning).add(t.Muted, " warning   ").
		add(t.Waiting, g.WatchConfirmed).add(t.Muted, " watches   ").
		add(t.Muted, g.WatchExpected+" should watch   ").
		add(t.Critical, g.WatchMissing).add(t.Muted, " does not watch")
	return []line{first, second}
}
