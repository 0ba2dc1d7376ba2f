package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// colour is a role in the palette.
type colour int

const (
	muted colour = iota
	faint
	holding
	waiting
	critical
	warning
	info
	unknown
	raised    // behind a badge
	selection // behind the selected row
	freshness // behind a row that has just changed hands
	onBright  // text on a bright badge
	colours
)

type palette [colours]color.Color

// ink is one colour on a dark and on a light background, and its stand-ins among 256 and 16 colours. The text's own
// colour is always the terminal's.
type ink struct {
	dark, light       string
	dark256, light256 string
	dark16, light16   string
}

// newPalette leaves a colour out (nil: the terminal's own) where the terminal has none for it.
func newPalette(o Options) palette {
	inks := [colours]ink{
		muted:     {"#8b93a1", "#5c6370", "245", "241", "7", "8"},
		faint:     {"#4b515c", "#b9bec7", "239", "250", "8", "7"},
		holding:   {"#5fd7a7", "#00734a", "79", "29", "10", "2"},
		waiting:   {"#6cb6ff", "#0a5cc2", "75", "26", "14", "4"},
		critical:  {"#ff6b6b", "#c4142b", "203", "160", "9", "1"},
		warning:   {"#f2c14e", "#8f5b00", "221", "94", "11", "3"},
		info:      {"#8b93a1", "#5c6370", "245", "241", "7", "8"},
		unknown:   {"#c8a2ff", "#7a3fc0", "183", "97", "13", "5"},
		raised:    {"#2a2f38", "#e4e7ec", "236", "254", "8", "7"},
		selection: {"#2d3b52", "#d6e4fb", "237", "189", "8", "7"},
		freshness: {"#1d4a39", "#c9f2df", "23", "194", "", ""},
		onBright:  {"#14171c", "#ffffff", "234", "231", "0", "15"},
	}
	var p palette
	for i, c := range inks {
		p[i] = lipgloss.NoColor{}
		if name := c.name(o); name != "" && !o.NoColor {
			p[i] = lipgloss.Color(name)
		}
	}
	return p
}

func (c ink) name(o Options) string {
	dark, light := c.dark, c.light
	switch o.Profile {
	case colorprofile.ANSI256:
		dark, light = c.dark256, c.light256
	case colorprofile.ANSI:
		dark, light = c.dark16, c.light16
	}
	if o.Light {
		return light
	}
	return dark
}
