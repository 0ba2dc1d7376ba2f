package tui

import (
	tea "charm.land/bubbletea/v2"
)

// suspend gives the terminal to the shell until it continues us, as ctrl+z usually does. It refuses
// while we hold or wait for locks, since a stopped program loses them.
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
