package theme

import (
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/lockscope/lockscope/internal/must"
)

func TestStylesRenderAsInLipgloss(t *testing.T) {
	red, blue := lipgloss.Color("1"), lipgloss.Color("#0000ff")
	for _, test := range []struct {
		ours   Style
		theirs lipgloss.Style
	}{
		{Style{}, lipgloss.NewStyle()},
		{Style{}.In(red), lipgloss.NewStyle().Foreground(red)},
		{Style{}.In(lipgloss.NoColor{}).Bold(), lipgloss.NewStyle().Bold(true)},
		{Style{}.On(blue).Reverse(), lipgloss.NewStyle().Background(blue).Reverse(true)},
		{Style{}.In(red).On(blue).Bold(), lipgloss.NewStyle().Foreground(red).Background(blue).Bold(true)},
		{Style{}.In(red).Inherit(Style{}.In(blue).On(blue).Bold()), lipgloss.NewStyle().Foreground(red).Background(blue).Bold(true)},
	} {
		must.Equal(t, test.ours.Render("held"), test.theirs.Render("held"))
	}
}
