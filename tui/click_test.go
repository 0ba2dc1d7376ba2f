package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/backends"
	"github.com/lockscope/lockscope/tui/findings"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// clickAt clicks on the first occurrence of a text.
func clickAt(t *testing.T, m *Model, text string) {
	t.Helper()
	for y, line := range splitLines(content(m)) {
		if before, _, ok := strings.Cut(line, text); ok {
			send(m, tea.MouseClickMsg{X: len([]rune(before)), Y: y, Button: tea.MouseLeft})
			return
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", text, content(m))
}

// The badges and the breadcrumb can be clicked at every window width.
func TestTitleIsClickable(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{40, 12}, {80, 24}, {200, 50}} {
		open := func(o Options) *Model {
			m := model(t, o, size.width, size.height, fixture.Everything(), "f")
			return m
		}
		m := open(Options{})
		clickAt(t, m, "READ-ONLY")
		wantText(t, m, "read-only")
		must.Equal(t, m.inFront, screen.Findings, size, "READ-ONLY leads to")
		clickAt(t, m, "findings")
		wantText(t, m, "already on findings")
		clickAt(t, m, "locks")
		must.Equal(t, m.inFront, screen.Locks, size, "locks leads to")
		clickAt(t, m, "locks")
		wantText(t, m, "already on the lock list")

		m = open(Options{})
		press(m, "space")
		clickAt(t, m, "PAUSED")
		must.True(t, !m.paused, size, "a click on PAUSED does not resume")
		clickAt(t, m, "redis degraded")
		must.Equal(t, m.inFront, screen.Backends, size, "the problem of a backend leads to")
	}
	m := model(t, Options{Sandbox: true}, 120, 36, fixture.Everything())
	clickAt(t, m, "SANDBOX")
	wantText(t, m, "inside this program")
	clickAt(t, m, "READ-ONLY")
	wantText(t, m, "read-only")
	clickAt(t, m, "zk ●")
	must.Equal(t, m.inFront, screen.Backends, "a backend's sign leads to")
}

// Clicks on the frame do not reach the list: the row below the last visible one stays unselected.
func TestFrameClicksSelectNothing(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 40, 12, fixture.Everything())
	before := locksOf(m).Current
	send(m, tea.MouseClickMsg{X: 20, Y: 10, Button: tea.MouseLeft})
	must.Equal(t, locksOf(m).Current, before, "a click on the rule selected")
	m = opened(t, Options{}, 80, 24, fixture.Orders().ID)
	for range 2 {
		send(m, tea.MouseClickMsg{X: 20, Y: 9, Button: tea.MouseRight})
	}
	must.Equal(t, m.inFront, screen.Chain, "the right button opened")
}

// A click selects a row and focuses its pane.
func TestClickFocusesThePane(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 200, 50, fixture.Everything())
	clickAt(t, m, "zk:/locks/orders")
	clickAt(t, m, "└─○ waits")
	wantText(t, m, "worker-7 · waits")
	press(m, "j")
	must.Equal(t, locksOf(m).Current.Lock, fixture.Orders().ID, "the keys did not move in the table")
	wantNoText(t, m, "worker-7 · waits")
	clickAt(t, m, "└─○ waits")
	wantNoText(t, m, "locks ▸ chain")
	clickAt(t, m, "└─○ waits")
	wantText(t, m, "locks ▸ chain")
	m = model(t, Options{}, 200, 50, fixture.Everything(), "b")
	s := m.front().(*backends.Screen)
	before := s.Current
	clickAt(t, m, "changes")
	press(m, "j", "j")
	must.Equal(t, s.Current, before, "backends: the keys moved the list, not the details")

	m = model(t, Options{}, 200, 50, fixture.Everything(), "f")
	chosen := m.front().(*findings.Screen).Chosen
	clickAt(t, m, "reported")
	press(m, "j", "j")
	must.Equal(t, m.front().(*findings.Screen).Chosen, chosen, "findings: the keys moved the list, not the details")
}
