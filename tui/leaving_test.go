package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// h and left go back, l and right open, on every screen. On the first screen they say why they cannot.
func TestBackAndOpenWorkEverywhere(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		for _, key := range []string{"h", "left", "l", "right"} {
			m := model(t, Options{Lab: newFakeLab()}, 120, 36, fixture.Everything())
			if e.name != screen.Locks {
				goTo(m, e.name, screen.Subject{Lock: fixture.Orders().ID})
			}
			if e.name == screen.Events {
				send(m, happening(allKinds()...))
			}
			m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
			before := content(m)
			press(m, key)
			switch back := key == "h" || key == "left"; {
			case back && e.name == screen.Locks:
				wantText(t, m, "already on the lock list")
			case back && m.inFront != screen.Locks:
				t.Errorf("%s: %s leads to %s", e.name, key, m.inFront)
			case !back && content(m) == before:
				t.Errorf("%s: %s opens nothing", e.name, key)
			case !back:
				wantNoText(t, m, "does nothing here")
			}
		}
	}
}

// From a pane of a screen, the first esc goes to its list, and the next one leaves the screen.
func TestEscLeavesThePaneFirst(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"esc", "h", "left"} {
		for _, name := range []screen.Name{screen.Locks, screen.Findings, screen.Clients, screen.Backends} {
			s := fixture.BlockedClients(t)
			if name == screen.Findings {
				s = allFindings()
			}
			m := inClients(t, Options{}, 200, 50, s, screen.Subject{})
			goTo(m, name, screen.Subject{})
			press(m, "tab")
			m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
			wantText(t, m, "esc list")
			press(m, key)
			must.True(t, m.inFront == name, name, key, "leads to", m.inFront)
			wantNoText(t, m, "esc list")
		}
	}
}

// If esc has two effects, the footer shows the first.
func TestFooterListsEachKeyOnce(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, fixture.Everything())
	press(m, "f", "/", "stuck", "enter")
	wantIn(t, foot(m), "esc clear filter", "h back")
	must.Equal(t, strings.Count(foot(m), "esc "), 1, foot(m))
	press(m, "n", "esc")
	wantNoText(t, m, "esc clear filter")
}

// The filter of clients has the same keys as all others.
func TestClientsHaveTheFilterKeys(t *testing.T) {
	t.Parallel()
	m := inClients(t, Options{}, 120, 36, fixture.BlockedClients(t), screen.Subject{})
	press(m, "/", "jobs", "enter", "n")
	wantNoText(t, m, "no filter is on")
	wantText(t, m, "esc clear filter")
	press(m, "h")
	must.Equal(t, m.inFront, screen.Locks, "h leads to")
}
