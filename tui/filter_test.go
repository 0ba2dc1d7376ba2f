package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

// Every filter, and the palette, is edited like any line of text; a paste is typed there and nowhere else.
func TestFiltersAreEdited(t *testing.T) {
	for _, e := range screenList() {
		m := model(t, Options{}, 120, 36, fixture.Everything())
		m.Go(e.name, screen.Subject{})
		send(m, nil)
		before := content(m)
		if send(m, tea.PasteMsg{Content: "qx"}); content(m) != before {
			t.Errorf("%s: a paste is taken for keys", e.name)
		}
		f, ok := m.front().(screen.Filtering)
		if !ok {
			continue
		}
		press(m, "/")
		typeText(m, "bc")
		send(m, tea.KeyPressMsg{Code: tea.KeyHome})
		press(m, "a")
		send(m, tea.KeyPressMsg{Code: tea.KeyEnd}, tea.PasteMsg{Content: "d\ne"})
		if got := f.Input().Text(); got != "abcd e" {
			t.Errorf("%s: %q", e.name, got)
		}
		if press(m, "esc"); f.Input().Text() != "" || f.Input().Open {
			t.Errorf("%s: esc leaves %q", e.name, f.Input().Text())
		}
	}
	m := model(t, Options{}, 120, 36, fixture.Everything())
	press(m, ":")
	send(m, tea.PasteMsg{Content: "orders"})
	press(m, "enter")
	wantText(t, m, "▸ chain", "zk:/locks/orders")
}
