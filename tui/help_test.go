package tui

import (
	"testing"

	"github.com/lockscope/lockscope/tui/internal/fixture"
	"github.com/lockscope/lockscope/tui/screen"
)

func TestHelpFindsSigns(t *testing.T) {
	t.Parallel()
	m := model(t, Options{}, 120, 36, fixture.Everything())
	press(m, "?", "/", "at least")
	wantText(t, m, "≥ at least")
	wantNoText(t, m, "Everywhere", "no watch")
	press(m, "xyz")
	wantText(t, m, "no key or symbol matches")
}

// The help of every screen fits 120x36 in two columns.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, e := range screenList() {
		m := model(t, Options{Lab: newFakeLab(), Release: newFakeReleaser().of, Scenes: twoScenes()}, 120, 36, fixture.Everything())
		goTo(m, e.name, screen.Subject{Lock: fixture.Orders().ID})
		press(m, "?")
		wantText(t, m, "Everywhere", "Symbols", "about; the clock")
		wantNoText(t, m, "more lines")
		fits(t, m)
	}
}
