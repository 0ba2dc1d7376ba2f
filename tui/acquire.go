package tui

import tea "charm.land/bubbletea/v2"

// acquireAction opens the form that takes a lock, from any screen, about what is selected there.
func (m *Model) acquireAction() action {
	return action{
		keys: []string{"a"}, shown: "a", hint: "acquire", help: "acquire the selected lock, or another: opens a form",
		writes: m.ReadOnly() == "", disabled: m.ReadOnly,
		run: func() tea.Cmd {
			m.Go(labScreen, m.front().Selected())
			return func() tea.Msg { return answeredMsg{labScreen, acquireAskedMsg{}} }
		},
	}
}
