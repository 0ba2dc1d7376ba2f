package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect/describe"
	"lockscope/internal/text"
)

// sinking is how long a loss must have been on the screen for a key to acknowledge it: what was typed before it came was
// meant for something else.
const sinking = 500 * time.Millisecond

// lossLine tells of losses at the foot of the window while another dialog lies over it; nil when there are none.
func (w *world) lossLine() line {
	if _, shown := w.top().(*lossBox); shown || len(w.losses) == 0 {
		return nil
	}
	t, last := w.theme, w.losses[len(w.losses)-1]
	l := line{{" " + t.Glyphs.Critical + " LOST ", t.BadgeCritical}, {" " + last.lock.String() + ": " + last.why, t.Critical}}
	if n := len(w.losses) - 1; n > 0 {
		l[0].text += "and " + describe.Count(n, "lock") + " more "
	}
	return l
}

// showLosses opens the box about them as soon as no other dialog is open.
func (w *world) showLosses() {
	if !w.HasDialog() && len(w.losses) > 0 {
		w.Push(&lossBox{w})
	}
}

// lossBox says over every screen that locks which we held are lost.
type lossBox struct{ *world }

// Update acknowledges all of them with a key that leaves something.
func (b *lossBox) Update(msg tea.Msg) (tea.Cmd, bool) {
	if key, ok := msg.(tea.KeyPressMsg); ok && b.Clock().Sub(b.losses[len(b.losses)-1].at) >= sinking {
		switch key.String() {
		case "esc", "enter", "q":
			b.losses = nil
			return nil, true
		}
	}
	return nil, false
}

func (b *lossBox) Actions() []action { return []action{{shown: "esc", hint: "close"}} }

func (b *lossBox) View(width, height int) string {
	t := b.theme
	width = min(width-4, 74)
	const least = 5 // lines below the list
	var lines []line
	for i, l := range b.losses {
		if rest := len(b.losses) - i; rest > 1 && len(lines)+3 > height-2-least {
			lines = append(lines, line{{fmt.Sprintf("and %d more: the Lab lists them", rest), t.Critical}}, nil)
			break
		}
		lines = append(lines, line{{t.Glyphs.Critical + " LOST  ", t.Critical}, {text.Middle(l.lock.String(), width-8, t.Glyphs.Ellipsis), t.Strong}})
		for _, text := range wrap(describe.Sentence(l.why)+".", width, 4, t.Glyphs.Ellipsis) {
			lines = append(lines, line{{text, t.Text}})
		}
		lines = append(lines, nil)
	}
	for _, text := range wrap("Somebody else may hold it now. Whatever it protects must stop at once.", width, 2, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{text, t.Warning}})
	}
	return box(t, append(lines, nil, line{{"[ Close ]", t.Strong.Reverse(true)}}), width, height, true)
}
