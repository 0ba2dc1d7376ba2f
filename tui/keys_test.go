package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/tui/internal/fixture"
	"lockscope/tui/screen"
)

// Every key that can be typed does something on every screen, or says why it does not.
func TestNoKeyIsSilent(t *testing.T) {
	t.Parallel()
	all := []string{"enter", "esc", "tab", "space"}
	for r := '!'; r <= '~'; r++ {
		all = append(all, string(r))
	}
	// These show a part of the time that is in sight already.
	scrolls := map[screen.Name]string{screen.Timeline: "0+-=_"}
	for _, e := range screenList() {
		for _, selected := range []bool{true, false} {
			keys := all
			if !selected {
				keys = []string{"enter", "esc", "tab", "x", "X", "A", "K", "m", "M", "v", "V", "y", "Y", "/", "n", "s", "p", "a", "o"}
			}
			for _, key := range keys {
				s := fixture.Everything()
				if !selected {
					s = inspect.NewSnapshot(fixture.Noon, fixture.Backends(), nil)
				}
				m := model(t, Options{}, 80, 24, s)
				about := screen.Subject{}
				if selected {
					about.Lock = fixture.Orders().ID
				}
				m.Go(e.name, about)
				m.navigate()
				m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
				before, place := content(m), m.backStack[len(m.backStack)-1].Screen
				cmd := press(m, key)
				moves := slices.ContainsFunc(screen.Moves(func(int) {}, func() int { return 1 }), func(a screen.Action) bool { return slices.Contains(a.Keys, key) })
				if cmd == nil && content(m) == before && m.inFront == place && !moves && !strings.Contains(scrolls[e.name], key) {
					t.Errorf("%s, selected %v: %s does nothing, and does not say why", e.name, selected, key)
				}
			}
		}
	}
}

// All hints of a footer are keys that do what they say, by key and by click.
func TestFooterIsClicked(t *testing.T) {
	for _, e := range screenList() {
		m := model(t, Options{}, 200, 50, fixture.Everything())
		m.Go(e.name, screen.Subject{Lock: fixture.Orders().ID})
		m.navigate()
		m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
		x := 0
		for _, h := range m.shownHints() {
			at := x + 1
			x += h.Width()
			if hintKey(&h.Action) == "" {
				t.Errorf("%s: the hint %q is no key", e.name, h.Text())
				continue
			}
			if h.Action.Keys[0] != "?" {
				continue
			}
			send(m, tea.MouseClickMsg{X: at, Y: 49, Button: tea.MouseLeft})
			wantText(t, m, "Keys of this screen")
			send(m, tea.MouseClickMsg{X: 1, Y: 49, Button: tea.MouseLeft}) // esc close
			wantNoText(t, m, "Keys of this screen")
		}
	}
}

// Two escapes that come together count twice, and one that comes with a letter is not lost.
func TestNoEscapeIsLost(t *testing.T) {
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	press(m, "?")
	send(m, tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt})
	if m.HasDialog() || m.inFront != screen.Locks {
		t.Errorf("dialog %v, in front %s", m.HasDialog(), m.inFront)
	}
	m = opened(t, Options{}, 120, 36, fixture.Orders().ID)
	send(m, tea.KeyPressMsg{Code: 'f', Mod: tea.ModAlt})
	if m.inFront != screen.Findings || len(m.backStack) != 2 {
		t.Errorf("in front %s, %v", m.inFront, m.backStack)
	}
}

// A digit opens its screen from any other, H and a click on the title go home, and from there esc leads nowhere old.
func TestDigitsAndHome(t *testing.T) {
	for i, e := range screenList() {
		m := model(t, Options{}, 120, 36, fixture.Everything())
		press(m, "b", "f", string(rune('1'+i)))
		if m.inFront != e.name {
			t.Errorf("%d opens %s", i+1, m.inFront)
		}
		fits(t, m)
		press(m, "H")
		if m.inFront != screen.Locks || len(m.backStack) != 1 {
			t.Errorf("%s: H leads to %s, %v", e.name, m.inFront, m.backStack)
		}
	}
	m := opened(t, Options{}, 120, 36, fixture.Orders().ID)
	wantText(t, m, "locks ▸ chain ▸ zk:/locks/orders")
	press(m, "t", "b", "1")
	if m.inFront != screen.Locks || len(m.backStack) != 1 {
		t.Errorf("1 leads to %s, %v", m.inFront, m.backStack)
	}
	press(m, "c", "t")
	send(m, tea.MouseClickMsg{X: 14, Y: 0, Button: tea.MouseLeft})
	if m.inFront != screen.Locks || len(m.backStack) != 1 {
		t.Errorf("a click leads to %s, %v", m.inFront, m.backStack)
	}
	send(m, tea.MouseClickMsg{X: 119, Y: 0, Button: tea.MouseLeft})
	wantText(t, m, "read-only: start with --write")
}

// The help finds a key by its words.
func TestHelpSearches(t *testing.T) {
	m := model(t, Options{}, 200, 50, fixture.Everything())
	send(m, tea.KeyPressMsg{Code: tea.KeyF1})
	wantText(t, m, "Everywhere", "reverse the order", "at least")
	press(m, "/")
	typeText(m, "filter")
	wantText(t, m, "filter: show only locks")
	wantNoText(t, m, "reverse the order")
	fits(t, m)
	press(m, "esc")
	wantText(t, m, "reverse the order")
}
