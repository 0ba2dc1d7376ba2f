package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"lockscope/theme"
)

// section is a rule with a name in it.
func section(t *theme.Theme, width int, name string) line {
	rule := t.Glyphs.Rule
	return line{
		{" " + strings.Repeat(rule, 2) + " ", t.Faint},
		{name, t.Muted},
		{" " + strings.Repeat(rule, max(0, width-ansi.StringWidth(name)-6)), t.Faint},
	}
}
