package tui

import (
	"image/color"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

// The key cycles through all themes, and the screen changes at once.
func TestThemeKey(t *testing.T) {
	m := New(t.Context(), Options{Now: func() time.Time { return fixture.Noon }})
	send(m, tea.WindowSizeMsg{Width: 120, Height: 36}, snapshotArrivedMsg{snapshot: fixture.Everything()})
	send(m, tea.ColorProfileMsg{Profile: trueColor}, tea.BackgroundColorMsg{Color: color.Black})
	seen := map[string]bool{}
	for _, name := range []string{theme.Dark, theme.Light, theme.HighContrast, theme.ColourBlind, theme.Auto} {
		press(m, "T")
		wantText(t, m, "theme: "+name)
		must.Equal(t, m.View().BackgroundColor != nil, name == theme.Light, name, "has a background on a dark terminal")
		m.flashText = ""
		frame := m.View().Content
		must.True(t, name == theme.Auto || !seen[frame], name, "looks like an earlier one")
		seen[frame] = true
		fits(t, m)
	}
	plain := model(t, Options{}, 80, 24, fixture.Everything())
	press(plain, "T")
	wantText(t, plain, "NO_COLOR")
}
