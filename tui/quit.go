package tui

import (
	tea "charm.land/bubbletea/v2"
)

// quit ends the program; when something is held here it asks first.
func (m *Model) quit() tea.Cmd {
	if n := m.inHand(); n > 0 {
		m.modal = &quitting{m.world, n}
		return nil
	}
	return tea.Quit
}

// inHand is how many locks we hold ourselves, or wait for.
func (w *world) inHand() int {
	if w.holding == nil {
		return 0
	}
	return w.holding()
}

// quitting asks whether to quit although locks are held. To stay is what enter does.
type quitting struct {
	*world
	held int
}

// Update stays, or quits with y.
func (d *quitting) Update(msg tea.Msg) (tea.Cmd, bool) {
	key, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil, false
	}
	switch key.String() {
	case "y":
		return tea.Quit, true
	case "esc", "enter", "n", "q":
		return nil, true
	}
	return nil, false
}

func (d *quitting) Actions() []action {
	return []action{{shown: "enter/esc", hint: "stay"}, {shown: "y", hint: "release and quit"}}
}

func (d *quitting) View(width, height int) string {
	t := d.theme
	held := plural(d.held, "lock")
	return box(t, []line{
		{{"Quit?", t.Strong}},
		nil,
		{{"You hold " + held + " here. Quitting releases what you hold.", t.Text}},
		nil,
		{{"y", t.Key}, {" release and quit    ", t.Text}, {"enter", t.Key}, {" stay", t.Text}},
	}, min(width-4, 62), height, false)
}
