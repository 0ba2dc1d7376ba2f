package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// action is one thing a key does. The footer and the help are made from lists of them.
type action struct {
	// keys as tea.KeyPressMsg.String spells them.
	keys []string
	// shown is how the keys are written in help and footer, hint a word or two for the footer (empty: not there),
	// help a line.
	shown, hint, help string
	// moves: it only moves a cursor.
	moves bool
	// vital: the footer has it whatever else fits.
	vital bool
	// writes marks what changes something on a server.
	writes bool
	// disabled says why it cannot be done now; nil or empty: it can.
	disabled func() string
	run      func() tea.Cmd
}

// runKey runs the action of a key; false when none has it.
func runKey(host Context, actions []action, key string) (tea.Cmd, bool) {
	for _, a := range actions {
		if !slices.Contains(a.keys, key) {
			continue
		}
		if why := a.why(); why != "" {
			host.Flash(why)
			return nil, true
		}
		return a.run(), true
	}
	return nil, false
}

// why says why the action cannot be done now; empty: it can.
func (a *action) why() string {
	if a.disabled == nil {
		return ""
	}
	return a.disabled()
}

// do makes what an action runs of a function that needs no command.
func do(f func()) func() tea.Cmd {
	return func() tea.Cmd {
		f()
		return nil
	}
}
