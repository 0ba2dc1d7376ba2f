package tui

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/lockops"
)

func isLoss(err error) bool { return errors.Is(err, lockops.ErrLost) }

// lossWords say why a lock was lost.
func lossWords(cause error) string {
	if cause == nil {
		return "nobody knows why"
	}
	text := cause.Error()
	if _, after, ok := strings.Cut(text, lockops.ErrLost.Error()+": "); ok {
		text = after
	}
	return printed(text)
}

// lossBox says over every screen that a lock which we held is lost.
type lossBox struct {
	*world
	lock inspect.ID
	why  string
}

// Update closes it with a key that leaves something.
func (b *lossBox) Update(msg tea.Msg) (tea.Cmd, bool) {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		switch key.String() {
		case "esc", "enter", "q":
			return nil, true
		}
	}
	return nil, false
}

func (b *lossBox) Actions() []action { return []action{{shown: "esc", hint: "close"}} }

func (b *lossBox) View(width, height int) string {
	t := b.theme
	width = min(width-4, 74)
	lines := []line{
		{{t.Glyphs.Critical + " LOST  ", t.Critical}, {middle(b.lock.String(), width-8, t.Glyphs.Ellipsis), t.Strong}}, nil,
	}
	for _, text := range wrap(sentence(b.why)+".", width, 4, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{text, t.Text}})
	}
	for _, text := range wrap("Somebody else may hold it now. Whatever it protects must stop at once.", width, 2, t.Glyphs.Ellipsis) {
		lines = append(lines, line{{text, t.Warning}})
	}
	return box(t, append(lines, nil, line{{"[ Close ]", t.Strong.Reverse(true)}}), width, height, true)
}
