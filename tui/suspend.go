package tui

import (
	tea "charm.land/bubbletea/v2"
)

// suspend gives the terminal back to the shell until that continues us, as ctrl+z does anywhere. Who stands
// still loses what he holds, so that it is not done while we hold or wait for locks.
func (m *Model) suspend() tea.Cmd {
	switch held, waiting := m.inHand(); {
	case held+waiting > 0:
		m.Flash("not suspended: you " + handWords(held, waiting) + " here, which a stopped program loses")
	case m.options.NoSuspend != "":
		m.Flash("not suspended: " + m.options.NoSuspend)
	default:
		return tea.Suspend
	}
	return nil
}
