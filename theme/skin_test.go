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
	must.Equal(t, New(Options{Skin: s}).Waiting, New(Options{}).Waiting, "what the skin leaves out")
	for _, few := range []Options{{NoColor: true}, {Profile: colorprofile.ANSI}} { // these terminals keep the theme's colours
		skinned := few
		skinned.Skin = s
		must.Equal(t, New(skinned).Holding, New(few).Holding, few)
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
