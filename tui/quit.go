package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/inspect/describe"
)

// quit ends the program; when something is held here it asks first.
func (m *Model) quit() tea.Cmd {
	if n := m.inHand(); n > 0 {
		m.modal = &quitting{m.world, n, m.modal}
		return nil
	}
	return tea.Quit
}

// interrupt is quit for ctrl+c, which works over every dialog: asked once, it quits. In a small window, where the question
// cannot be seen, the window says so beforehand.
func (m *Model) interrupt() tea.Cmd {
	if _, asked := m.modal.(*quitting); asked || m.small() {
		return tea.Quit
	}
	return m.quit()
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
	// under is the dialog over which it lies, and to which staying goes back.
	under modal
}

// Update stays, or quits with y.
func (d *quitting) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch msg.String() {
		case "y":
			return tea.Quit, true
		case "esc", "enter", "n", "q":
			d.modal = d.under
			return nil, true
		}
	case tea.PasteMsg, tea.MouseWheelMsg:
	default:
		return d.below(msg), false
	}
	return nil, false
}

// below gives an answer to the dialog that waits for it.
func (d *quitting) below(msg tea.Msg) tea.Cmd {
	if d.under == nil {
		return nil
	}
	d.modal = d.under
	cmd, done := d.under.Update(msg)
	if done && d.modal == d.under {
		d.modal = nil
	}
	d.under, d.modal = d.modal, d // it may have opened another
	return cmd
}

func (d *quitting) Actions() []action {
	return []action{{shown: "enter/esc", hint: "stay"}, {shown: "y", hint: "release and quit"}, {shown: "ctrl+c", hint: "the same"}}
}

func (d *quitting) View(width, height int) string {
	t := d.theme
	held := describe.Count(d.held, "lock")
	return box(t, []line{
		{{"Quit?", t.Strong}},
		nil,
		{{"You hold " + held + " here. Quitting releases what you hold.", t.Text}},
		nil,
		{{"y", t.Key}, {" release and quit    ", t.Text}, {"enter", t.Key}, {" stay", t.Text}},
	}, min(width-4, 62), height, false)
}
