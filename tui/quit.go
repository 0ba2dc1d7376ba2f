package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// quit ends the program, and asks first if locks are held.
func (w *world) quit() tea.Cmd {
	if held, waiting := w.inHand(); held+waiting > 0 {
		d := &quitting{world: w, held: held, waiting: waiting}
		d.form = widget.Form{Button: d.quits(), At: 1}
		w.Push(d)
		return nil
	}
	return tea.Quit
}

// interrupt is quit for ctrl+c, which works over every dialog; the second one quits. A window too
// small for the question announces that beforehand.
func (m *Model) interrupt() tea.Cmd {
	if _, asked := m.top().(*quitting); asked || m.small() {
		return tea.Quit
	}
	return m.quit()
}

// inHand counts the locks that we hold and wait for.
func (w *world) inHand() (held, waiting int) {
	for _, s := range w.screens {
		if h, ok := s.(screen.Holder); ok {
			holds, waits := h.Holding()
			held, waiting = held+holds, waiting+waits
		}
	}
	return held, waiting
}

func handWords(held, waiting int) string {
	switch {
	case waiting == 0:
		return "hold " + describe.Count(held, "lock")
	case held == 0:
		return "wait for " + describe.Count(waiting, "lock")
	default:
		return fmt.Sprintf("hold %s, and wait for %d", describe.Count(held, "lock"), waiting)
	}
}

// quitting asks before quitting releases locks or leaves queues. The focus starts on Cancel, so
// that pressing enter by habit is safe.
type quitting struct {
	*world
	held, waiting int
	form          widget.Form
}

// Update stays, or quits with its button or y.
func (d *quitting) Update(msg tea.Msg) (tea.Cmd, bool) {
	key, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil, false
	}
	confirmed, closed, _ := d.form.Press(key)
	if confirmed || key.String() == "y" {
		return tea.Quit, true
	}
	return nil, closed || key.String() == "n" || key.String() == "q"
}

func (d *quitting) Actions() []screen.Action {
	return append(screen.FormActions(&d.form), screen.Action{Shown: "y", Hint: "quit"})
}

func (d *quitting) quits() string {
	if d.held == 0 {
		return "Stop waiting and quit"
	}
	return "Release and quit"
}

func (d *quitting) View(width, height int) string {
	t := d.theme
	ends := "Quitting releases what you hold."
	switch {
	case d.held == 0:
		ends = "Quitting stops waiting."
	case d.waiting > 0:
		ends = "Quitting releases what you hold, and stops waiting."
	}
	return widget.Box(t, []widget.Line{
		{{"Quit?", t.Strong}},
		nil,
		{{"You " + handWords(d.held, d.waiting) + " here.", t.Text}},
		{{ends, t.Text}},
		nil,
		widget.FormButtons(t, &d.form, false),
	}, min(width-4, 62), height, false)
}
