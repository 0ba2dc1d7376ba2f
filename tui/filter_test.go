package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
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

// A filter is typed in the same place on every screen, with what is wrong with it beside it.
func TestFiltersAreTypedInOnePlace(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := inClients(t, Options{}, 80, 24, fixture.BlockedClients(t), screen.Subject{})
		m.Go(e.name, screen.Subject{})
		m.navigate()
		if m.filter() == nil {
			continue
		}
		line := func() string { return splitLines(content(m))[len(frame{m}.head())] }
		press(m, "/")
		if got := line(); !strings.HasPrefix(got, " / ") || !strings.Contains(got, " words") {
			t.Errorf("%s: %q", e.name, got)
		}
		typeText(m, "zk")
		if got := line(); !strings.HasPrefix(got, " / zk ") || !strings.Contains(got, " of ") {
			t.Errorf("%s: %q", e.name, got)
		}
		typeText(m, " ~[")
		if got := line(); !strings.Contains(got, "~[: missing closing ]") {
			t.Errorf("%s: %q", e.name, got)
		}
		fits(t, m)
	}
}
