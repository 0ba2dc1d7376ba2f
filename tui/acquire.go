package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/tui/lab"
	"github.com/lockscope/lockscope/tui/screen"
)

// acquireAction opens the form that takes a lock, from any screen.
func (w *world) acquireAction() screen.Action {
	hint := "acquire"
	if w.Past() {
		hint = ""
	}
	return screen.Action{
		Keys: []string{"a"}, Shown: "a", Hint: hint, Late: true, Help: "acquire a lock",
		Writes: w.ReadOnly() == "", Disabled: w.CannotAcquire,
		Run: func() tea.Cmd {
			w.Go(screen.Lab, w.front().Selected())
			return func() tea.Msg { return answeredMsg{screen.Lab, lab.AcquireMsg{}} }
		},
	}
}
