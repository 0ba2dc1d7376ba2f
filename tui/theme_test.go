package tui

import (
	"image/color"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// The key cycles through all themes, and the screen changes at once.
func TestThemeKey(t *testing.T) {
	m := New(t.Context(), Options{Now: func() time.Time { return fixture.Noon }})
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36}, snapshotArrivedMsg{snapshot: fixture.Everything()})
	send(m, tea.ColorProfileMsg{Profile: trueColor}, tea.BackgroundColorMsg{Color: color.Black})
	seen := map[string]bool{}
	for i, name := range []string{theme.Dark, theme.Light, theme.HighContrast, theme.ColourBlind, theme.Auto} {
		press(m, "T")
		wantText(t, m, "theme: "+name)
		if v := m.View(); (v.BackgroundColor != nil) != (name == theme.Light) {
			t.Errorf("%s on a dark terminal has the background %v", name, v.BackgroundColor)
		}
		m.flashText = ""
		if frame := m.View().Content; name != theme.Auto && seen[frame] {
			t.Errorf("theme %d looks like an earlier one", i)
		} else {
			seen[frame] = true
		}
		fits(t, m)
	}
	plain := model(t, Options{}, 80, 24, fixture.Everything())
	press(plain, "T")
	wantText(t, plain, "NO_COLOR")
}
