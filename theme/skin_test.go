package theme

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/lockscope/lockscope/internal/must"
)

func TestSkinReplacesColours(t *testing.T) {
	s := must.Have(NewSkin(map[string]string{"holding": "#123456"}))(t)
	must.Equal(t, New(Options{Skin: s}).Holding.Foreground(), lipgloss.Color("#123456"))
	if a, b := New(Options{Skin: s}).Waiting.Foreground(), New(Options{}).Waiting.Foreground(); a != b {
		t.Errorf("what the skin leaves out is %v, not the theme's %v", a, b)
	}
	if New(Options{Skin: s, NoColor: true}).Holding.Foreground() != New(Options{NoColor: true}).Holding.Foreground() {
		t.Error("a skin puts colour where none is wanted")
	}
	if New(Options{Skin: s, Profile: colorprofile.ANSI}).Holding.Foreground() != New(Options{Profile: colorprofile.ANSI}).Holding.Foreground() {
		t.Error("a skin replaces the colours chosen for terminals of 16")
	}
	if len(SkinRoles()) != int(roles) {
		t.Errorf("%d names of %d roles", len(SkinRoles()), roles)
	}
	for colours, says := range map[[2]string]string{{"holdings", "#123456"}: "no role", {"holding", "red"}: "#rrggbb"} {
		if _, err := NewSkin(map[string]string{colours[0]: colours[1]}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", colours, err)
		}
	}
}
