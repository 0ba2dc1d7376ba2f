package widget

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"lockscope/theme"
)

// Section is a rule with a name in it.
func Section(t *theme.Theme, width int, name string) Line {
	rule := t.Glyphs.Rule
	return Line{
		{" " + strings.Repeat(rule, 2) + " ", t.Faint},
		{name, t.Muted},
		{" " + strings.Repeat(rule, max(0, width-ansi.StringWidth(name)-6)), t.Faint},
	}
}
