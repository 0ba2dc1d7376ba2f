package tui

import (
	tea "charm.land/bubbletea/v2"
)

// suspend gives the terminal back to the shell until that continues us, as ctrl+z does anywhere. Who stands
// still loses what he holds, so that it is not done while we hold or wait for locks.
func (w *world) suspend() tea.Cmd {
	switch held, waiting := w.inHand(); {
	case held+waiting > 0:
		w.Flash("not suspended: you " + handWords(held, waiting) + " here, which a stopped program loses")
	case w.options.NoSuspend != "":
		w.Flash("not suspended: " + w.options.NoSuspend)
	default:
		return tea.Suspend
	}
	return nil
}
