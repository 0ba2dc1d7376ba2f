package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/inspect/describe"
	"lockscope/tui/screen"
	"lockscope/tui/widget"
)

// quit ends the program; when something is held here it asks first.
func (m *Model) quit() tea.Cmd {
	if n := m.inHand(); n > 0 {
		m.Push(&quitting{m.world, n})
		return nil
	}
	return tea.Quit
}

// interrupt is quit for ctrl+c, which works over every dialog: asked once, it quits. In a small window, where the question
// cannot be seen, the window says so beforehand.
func (m *Model) interrupt() tea.Cmd {
	if _, asked := m.top().(*quitting); asked || m.small() {
		return tea.Quit
	}
	return m.quit()
}

// inHand counts the locks that we hold ourselves, or wait for.
func (m *Model) inHand() int {
	n := 0
	for _, s := range m.screens {
		if h, ok := s.(screen.Holder); ok {
			n += h.Holding()
		}
	}
	return n
}

// quitting asks before held locks are released by quitting. Enter stays, so that a habit loses nothing.
type quitting struct {
	*world
	held int
}

// Update stays, or quits with y.
func (d *quitting) Update(msg tea.Msg) (tea.Cmd, bool) {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		switch key.String() {
		case "y":
			return tea.Quit, true
		case "esc", "enter", "n", "q":
			return nil, true
		}
	}
	return nil, false
}

func (d *quitting) Actions() []screen.Action {
	return []screen.Action{{Shown: "enter/esc", Hint: "stay"}, {Shown: "y", Hint: "release and quit"}, {Shown: "ctrl+c", Hint: "the same"}}
}

func (d *quitting) View(width, height int) string {
	t := d.theme
	held := describe.Count(d.held, "lock")
	return widget.Box(t, []widget.Line{
		{{"Quit?", t.Strong}},
		nil,
		{{"You hold " + held + " here. Quitting releases what you hold.", t.Text}},
		nil,
		{{"y", t.Key}, {" release and quit    ", t.Text}, {"enter", t.Key}, {" stay", t.Text}},
	}, min(width-4, 62), height, false)
}
