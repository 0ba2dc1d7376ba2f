package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/tui/lab"
	"lockscope/tui/screen"
)

// acquireAction opens the form that takes a lock, from any screen, about what is selected there.
func (m *Model) acquireAction() screen.Action {
	return screen.Action{
		Keys: []string{"a"}, Shown: "a", Hint: "acquire", Late: true, Help: "acquire the selected lock, or another",
		Writes: m.ReadOnly() == "", Disabled: m.ReadOnly,
		Run: func() tea.Cmd {
			m.Go(screen.Lab, m.front().Selected())
			return func() tea.Msg { return answeredMsg{screen.Lab, lab.AcquireMsg{}} }
		},
	}
}
