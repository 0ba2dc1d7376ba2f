package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// role is an index into the palette.
type role int

const (
	muted role = iota
	faint
	holding
	waiting
	critical
	warning
	unknown
	raised    // behind a badge
	selection // behind the selected row
	freshness // behind a row that has just changed hands
	onBright  // text on a bright badge
	roles
)

// ink is a colour and its substitute among 256.
type ink struct{ full, of256 string }

// palette has everything that differs between themes. An empty colour is the terminal's own, as
// the text's always is.
type palette [roles]ink

func darkPalette() palette {
	return palette{
		muted: {"#a4acb9", "248"}, faint: {"#5a616d", "240"},
		holding: {"#5fd7a7", "79"}, waiting: {"#6cb6ff", "75"},
		critical: {"#ff7b7b", "210"}, warning: {"#f2c14e", "221"}, unknown: {"#c8a2ff", "183"},
		raised: {"#2a2f38", "236"}, selection: {"#2d3b52", "237"}, freshness: {"#173d2f", "235"}, onBright: {"#14171c", "234"},
	}
}

func lightPalette() palette {
	return palette{
		muted: {"#565c68", "240"}, faint: {"#b0b6c0", "249"},
		holding: {"#006b43", "22"}, waiting: {"#0a56b8", "25"},
		critical: {"#b8102a", "124"}, warning: {"#7a4d00", "58"}, unknown: {"#7437ba", "91"},
		raised: {"#e4e7ec", "254"}, selection: {"#d6e4fb", "189"}, freshness: {"#c9f2df", "194"}, onBright: {"#ffffff", "231"},
	}
}

// The high-contrast palettes invert the selected row's colours instead of changing its
// background.
func highContrastDarkPalette() palette {
	return palette{
		muted: {"#d5d9e0", "253"}, faint: {"#8b93a1", "246"},
		holding: {"#5fffaf", "85"}, waiting: {"#8fd0ff", "117"},
		critical: {"#ffa0a0", "217"}, warning: {"#ffd75f", "221"}, unknown: {"#dcc2ff", "225"},
		selection: {"#ffffff", "231"}, onBright: {"#000000", "16"},
	}
}

func highContrastLightPalette() palette {
	return palette{
		muted: {"#33373f", "237"}, faint: {"#6b7280", "243"},
		holding: {"#004d2c", "22"}, waiting: {"#003f94", "18"},
		critical: {"#8c0015", "88"}, warning: {"#573600", "235"}, unknown: {"#551a94", "54"},
		selection: {"#000000", "16"}, onBright: {"#ffffff", "231"},
	}
}

// The colour-blind palettes use blue for healthy states and yellow to orange for problems, and the
// colours differ in lightness.
func colourBlindDarkPalette() palette {
	return palette{
		muted: {"#a4acb9", "248"}, faint: {"#5a616d", "240"},
		holding: {"#5aa9ff", "75"}, waiting: {"#cfe6ff", "189"},
		critical: {"#ff8a1f", "208"}, warning: {"#ffe66b", "227"}, unknown: {"#b9a3b4", "181"},
		raised: {"#2a2f38", "236"}, selection: {"#2d3b52", "237"}, freshness: {"#17304d", "17"}, onBright: {"#14171c", "234"},
	}
}

func colourBlindLightPalette() palette {
	return palette{
		muted: {"#565c68", "240"}, faint: {"#b0b6c0", "249"},
		holding: {"#0050c8", "26"}, waiting: {"#0a2a5c", "17"},
		critical: {"#a84000", "88"}, warning: {"#3f3000", "94"}, unknown: {"#74546e", "96"},
		raised: {"#e4e7ec", "254"}, selection: {"#dfe9fb", "255"}, freshness: {"#d9ecff", "255"}, onBright: {"#ffffff", "231"},
	}
}

// Every terminal has its own 16 colours, so these suit the most common palettes. On black, the
// bright colours except blue are legible. On white, only red, blue, magenta and grey are. The
// selected row and the badges have black text.
func darkOf16() [roles]string {
	return [roles]string{
		muted: "7", faint: "8", holding: "10", waiting: "14", critical: "9", warning: "11", unknown: "13",
		raised: "7", selection: "6", onBright: "0",
	}
}

func colourBlindDarkOf16() [roles]string {
	p := darkOf16()
	p[holding], p[waiting] = "14", "15"
	return p
}

// On white, a warning is black on yellow, since no yellow text is legible there.
func lightOf16() [roles]string {
	return [roles]string{
		muted: "8", faint: "7", holding: "4", waiting: "", critical: "1", warning: "0", unknown: "5",
		raised: "7", selection: "6", onBright: "15",
	}
}

// colour returns a colour by its name, or the terminal's own if the palette omits it or the
// terminal has none.
func colour(name string) color.Color {
	if name == "" {
		return lipgloss.NoColor{}
	}
	return lipgloss.Color(name)
}

// colours returns a theme's colours, for a terminal's background and profile.
func colours(o Options) [roles]color.Color {
	var out [roles]color.Color
	of16 := of16(o)
	for i, c := range paletteOf(o) {
		name := c.full
		switch {
		case o.NoColor:
			name = ""
		case o.Profile == colorprofile.ANSI256:
			name = c.of256
		case o.Profile == colorprofile.ANSI:
			name = of16[i]
		}
		if own := o.Skin[i]; own != "" && !o.NoColor && o.Profile != colorprofile.ANSI {
			name = own
		}
		out[i] = colour(name)
	}
	return out
}

func paletteOf(o Options) palette {
	light := o.onLight()
	switch {
	case o.Name == HighContrast && light:
		return highContrastLightPalette()
	case o.Name == HighContrast:
		return highContrastDarkPalette()
	case o.Name == ColourBlind && light:
		return colourBlindLightPalette()
	case o.Name == ColourBlind:
		return colourBlindDarkPalette()
	case light:
		return lightPalette()
	default:
		return darkPalette()
	}
}

func of16(o Options) [roles]string {
	switch {
	case o.onLight():
		return lightOf16()
	case o.Name == ColourBlind:
		return colourBlindDarkOf16()
	default:
		return darkOf16()
	}
}
