package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

// A filter accepts letters that are keys of actions.
func TestCompactFilterTakesAllLetters(t *testing.T) {
	m := model(t, Options{}, 40, 12, fixture.Everything())
	shows(t, m, "/ axXAKmL8", "/ axXAKmL8")
	press(m, "esc")
	for _, key := range []string{"a", "x", "X", "A", "K", "m", "L", "8"} {
		shows(t, m, key, "window too small: it needs 80x24")
	}
}

// A screen or dialog that does not fit a compact window can be left with esc, however it was opened.
func TestEscLeavesOversizedScreens(t *testing.T) {
	m := opened(t, Options{Release: newFakeReleaser().of}, 80, 24, fixture.Orders().ID)
	run(t, m, press(m, "x"))
	must.True(t, m.HasDialog(), "no dialog")
	m.Update(tea.WindowSizeMsg{Width: 39, Height: 11})
	press(m, "esc")
	must.True(t, m.HasDialog(), "esc closed an invisible dialog")
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 12})
	wantText(t, m, "at least 80x24", "esc goes back")
	press(m, "enter", "y")
	must.True(t, m.HasDialog(), "a key reached a dialog that is not drawn")
	press(m, "esc")
	must.True(t, !m.HasDialog(), "esc does not close it")
	wantNoText(t, m, "at least 80x24")
	goTo(m, screen.Lab, screen.Subject{})
	wantText(t, m, "esc goes back")
	hides(t, m, "esc", "at least 80x24")
}

func TestTicketMenuFitsCompactWindow(t *testing.T) {
	m := model(t, Options{}, 40, 12, fixture.Everything())
	shows(t, m, "Y", "Ticket of", "markdown", "json")
	hides(t, m, "esc", "Ticket of")
}

// A new message takes the place of the tour's line.
func TestMessagesComeBeforeTheTour(t *testing.T) {
	m := model(t, Options{Scenes: twoScenes()}, 40, 12, fixture.Everything())
	shows(t, m, "x", "window too small: it needs 80x24")
}

// Even the smallest window says that the screen is paused.
func TestCompactWindowShowsPaused(t *testing.T) {
	for _, o := range []Options{{}, {Sandbox: true}, {Sandbox: true, Replay: true, Environment: "production"}} {
		r := seen(t, o, 40, 12)
		shows(t, r.Model, "space", "PAUSED: space resumes")
		shows(t, r.Model, "space [", " PAST ", "READ-ONLY")
	}
}
