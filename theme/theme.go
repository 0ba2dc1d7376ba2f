// Package theme has the colours, glyphs and bars of the screen. It knows roles such as holding,
// waiting and critical, each with a glyph as well as a colour, but no locks.
package theme

import (
	"image/color"
	"slices"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// The names of the themes.
const (
	// Auto is Dark or Light, depending on the terminal's background.
	Auto  = "auto"
	Dark  = "dark"
	Light = "light"
	// HighContrast and ColourBlind adapt to both backgrounds. In ColourBlind no two states differ
	// only in red and green.
	HighContrast = "high-contrast"
	ColourBlind  = "colour-blind"
)

// Names returns the names of all themes, the default first.
func Names() []string { return []string{Auto, Dark, Light, HighContrast, ColourBlind} }

// Options choose a theme.
type Options struct {
	// Name is one of Names; anything else is Auto.
	Name string
	// Light means that the background is light, BackgroundKnown that the terminal reported it.
	Light, BackgroundKnown bool
	// NoColor leaves only bold and reverse.
	NoColor bool
	// ASCII draws with 7-bit characters only.
	ASCII bool
	// Skin replaces the theme's colours on terminals with more than 16.
	Skin Skin
	// Profile is the terminal's range of colours. The zero value, unknown, counts as true colour,
	// since the output is converted later.
	Profile colorprofile.Profile
}

// Next returns the same options with the next theme.
func (o Options) Next() Options {
	names := Names()
	o.Name = names[(max(0, slices.Index(names, o.Name))+1)%len(names)]
	return o
}

// onLight reports whether the theme is for a light background.
func (o Options) onLight() bool { return o.Name == Light || o.Name != Dark && o.Light }

// Theme is a set of styles and glyphs, with a field for each thing to draw. It is immutable.
type Theme struct {
	Options Options
	Glyphs  Glyphs

	// Paper and Ink are the window's background and text if the theme was chosen against the
	// terminal's own; nil means the terminal's.
	Paper, Ink color.Color

	// Text is ordinary, Strong is emphasised, Muted is secondary, Faint is structure such as rules
	// and empty bars.
	Text, Strong, Muted, Faint Style
	// Holding and Waiting are the two accents.
	Holding, Waiting Style
	// Critical is the only red.
	Critical, Warning, Info Style
	// Unknown is for locks that could not be read, Free for locks without a holder.
	Unknown, Free Style
	// Title names the program, Header the columns, Key a key in a hint.
	Title, Header, Key Style
	// Badge is quiet; BadgeWarning and BadgeCritical are not.
	Badge, BadgeWarning, BadgeCritical Style
	// Frame draws a dialog's border, FrameCritical that of a dangerous one.
	Frame, FrameCritical Style

	selected, fresh Style
	// turned means that the selected row has one text colour.
	turned bool
}

// New builds a theme.
func New(o Options) *Theme {
	if o.Profile == colorprofile.ASCII || o.Profile == colorprofile.NoTTY {
		o.NoColor = true
	}
	if !slices.Contains(Names(), o.Name) {
		o.Name = Auto
	}
	p := colours(o)
	var base Style
	ink := func(r role) Style { return base.In(p[r]) }
	t := &Theme{
		Options:  o,
		Glyphs:   unicodeGlyphs(),
		Text:     base,
		Strong:   base.Bold(),
		Muted:    ink(muted),
		Faint:    ink(faint),
		Holding:  ink(holding),
		Waiting:  ink(waiting),
		Critical: ink(critical).Bold(),
		Warning:  ink(warning),
		Info:     ink(muted),
		Unknown:  ink(unknown),
		Free:     ink(muted),
		Title:    ink(holding).Bold(),
		Header:   ink(muted),
		Key:      base.Bold(),
		Badge:    ink(muted).On(p[raised]),

		BadgeWarning:  ink(onBright).On(p[warning]).Bold(),
		BadgeCritical: ink(onBright).On(p[critical]).Bold(),
		Frame:         ink(muted),
		FrameCritical: ink(critical),
		selected:      base.On(p[selection]),
		fresh:         base.On(p[freshness]),
	}
	if o.ASCII {
		t.Glyphs = asciiGlyphs()
	}
	switch {
	case o.NoColor:
		t.withoutColour()
	case o.Profile == colorprofile.ANSI:
		t.with16()
	case o.Name == HighContrast:
		t.turned = true
		t.selected = ink(onBright).On(p[selection])
		t.fresh = base.Bold()
		t.Badge = ink(onBright).On(p[muted])
	}
	t.paint()
	return t
}

func (t *Theme) withoutColour() {
	var base Style
	if !t.Options.ASCII {
		t.Glyphs.Cursor = t.Glyphs.Breadcrumb // half a reversed cell looks broken
	}
	t.fresh = base.Bold()
	t.Badge = base
	t.BadgeWarning = base.Reverse()
	t.BadgeCritical = base.Reverse().Bold()
	t.selected = base.Reverse()
}

func (t *Theme) with16() {
	black := Style{}.In(lipgloss.Color("0"))
	t.turned = true
	t.selected = black.On(t.selected.background)
	t.fresh = Style{}.Bold()
	t.Badge = black.On(t.Badge.background)
	if t.Options.onLight() {
		t.Warning = black.On(lipgloss.Color("3"))
		t.BadgeWarning = t.Warning.Bold()
	}
}

// paint makes the window light or dark if the terminal reported the opposite of what was chosen. It
// cannot with 16 colours or fewer.
func (t *Theme) paint() {
	o := t.Options
	few := o.NoColor || o.Profile == colorprofile.ANSI
	if !o.BackgroundKnown || few || o.onLight() == o.Light {
		return
	}
	t.Paper, t.Ink = lipgloss.Color("#16181d"), lipgloss.Color("#d7dbe2")
	if o.onLight() {
		t.Paper, t.Ink = lipgloss.Color("#fafafa"), lipgloss.Color("#1c1f26")
	}
	if !t.turned { // also if the terminal keeps its own
		t.selected, t.fresh = t.selected.In(t.Ink), t.fresh.In(t.Ink)
	}
}

// Selected adapts a style to the selected row.
func (t *Theme) Selected(s Style) Style {
	if t.turned {
		return s.In(t.selected.foreground).On(t.selected.background)
	}
	return s.Inherit(t.selected)
}

// Fresh adapts a style to a row that has just changed hands.
func (t *Theme) Fresh(s Style) Style { return s.Inherit(t.fresh) }
