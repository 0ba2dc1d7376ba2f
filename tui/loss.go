package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/tui/screen"
	"github.com/lockscope/lockscope/tui/widget"
)

// ackDelay is the minimum time on the screen before a key acknowledges a loss. Keys typed earlier
// were meant for something else.
const ackDelay = 500 * time.Millisecond

// lossLine shows the newest loss, and how many others there are, below another dialog; nil without
// any.
func (w *world) lossLine() widget.Line {
	if _, shown := w.top().(*lossBox); shown || len(w.losses) == 0 {
		return nil
	}
	t, last := w.theme, w.losses[len(w.losses)-1]
	l := widget.Line{
		{" " + t.Glyphs.Critical + " LOST ", t.BadgeCritical}, {" " + last.Lock.String() + ": " + last.Why, t.Critical},
	}
	if n := len(w.losses) - 1; n > 0 {
		l[0].Text += "and " + describe.Count(n, "lock") + " more "
	}
	return l
}

// showLosses opens the box of losses once no other dialog is open.
func (w *world) showLosses() {
	if !w.HasDialog() && len(w.losses) > 0 {
		w.Push(&lossBox{w})
	}
}

// lossBox covers every screen until the losses of our own locks are acknowledged.
type lossBox struct{ *world }

// Update acknowledges all losses on any key that closes something.
func (b *lossBox) Update(msg tea.Msg) (tea.Cmd, bool) {
	if key, ok := msg.(tea.KeyPressMsg); ok && b.Clock().Sub(b.losses[len(b.losses)-1].At) >= ackDelay {
		switch key.String() {
		case "esc", "enter", "q":
			b.losses = nil
			return nil, true
		}
	}
	return nil, false
}

func (b *lossBox) Actions() []screen.Action { return []screen.Action{{Shown: "esc", Hint: "close"}} }

func (b *lossBox) View(width, height int) string {
	t := b.theme
	width = min(width-4, 74)
	const least = 5 // lines below the list
	var lines []widget.Line
	for i, l := range b.losses {
		if rest := len(b.losses) - i; rest > 1 && len(lines)+3 > height-2-least {
			lines = append(lines, widget.Line{{fmt.Sprintf("and %d more: the Lab lists them", rest), t.Critical}}, nil)
			break
		}
		lines = append(lines, widget.Line{
			{t.Glyphs.Critical + " LOST  ", t.Critical},
			{text.Middle(l.Lock.String(), width-8, t.Glyphs.Ellipsis), t.Strong},
		})
		for _, text := range widget.Wrap(describe.Sentence(l.Why)+".", width, 4, t.Glyphs.Ellipsis) {
			lines = append(lines, widget.Line{{text, t.Text}})
		}
		lines = append(lines, nil)
	}
	const stop = "Another client may hold it now. Stop the work that it protects at once."
	for _, text := range widget.Wrap(stop, width, 2, t.Glyphs.Ellipsis) {
		lines = append(lines, widget.Line{{text, t.Warning}})
	}
	return widget.Box(t, append(lines, nil, widget.Line{{"[ Close ]", t.Strong.Reverse()}}), width, height, true)
}
