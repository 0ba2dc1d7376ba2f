package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/theme"
)

// Section is a rule with a name.
func Section(t *theme.Theme, width int, name string) Line { return Divider(t, width, name, t.Muted) }

// Divider is Section with the name in another style.
func Divider(t *theme.Theme, width int, name string, style theme.Style) Line {
	rule := t.Glyphs.Rule
	return Line{
		{" " + strings.Repeat(rule, 2) + " ", t.Faint},
		{name, style},
		{" " + strings.Repeat(rule, max(0, width-ansi.StringWidth(name)-6)), t.Faint},
	}
}
