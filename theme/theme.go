// Package theme holds the colours, glyphs and bars of the screen. It knows no lock: only roles such as holding,
// waiting and critical, each of which has a glyph besides its colour.
package theme

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Options choose a theme.
type Options struct {
	// Light is for terminals with a light background.
	Light bool
	// NoColor leaves only bold and reverse.
	NoColor bool
	// ASCII draws with 7-bit characters only.
	ASCII bool
	// Profile is what the terminal can show. Its zero value, unknown, is taken for true colour: what is written
	// then is converted further down.
	Profile colorprofile.Profile
}

// Theme is a set of styles and glyphs. It is built once and not changed.
type Theme struct {
	Options Options
	Glyphs  Glyphs

	// Text is ordinary, Strong stands out, Muted is secondary, Faint is structure such as rules and empty bars.
	Text, Strong, Muted, Faint lipgloss.Style
	// Holding and Waiting are the two accents.
	Holding, Waiting lipgloss.Style
	// Critical is the only red.
	Critical, Warning, Info lipgloss.Style
	// Unknown is for what could not be looked at; Free for what nobody holds.
	Unknown, Free lipgloss.Style
	// Title names the program, Header the columns, Key a key in a hint.
	Title, Header, Key lipgloss.Style
	// Badge is quiet; BadgeWarning and BadgeCritical are not.
	Badge, BadgeWarning, BadgeCritical lipgloss.Style
	// Frame draws a dialog's border, FrameCritical that of a dangerous one.
	Frame, FrameCritical lipgloss.Style

	selected, fresh lipgloss.Style
}

// New builds a theme.
func New(o Options) *Theme {
	if o.Profile == colorprofile.ASCII || o.Profile == colorprofile.NoTTY {
		o.NoColor = true
	}
	p := newPalette(o)
	base := lipgloss.NewStyle()
	ink := func(role colour) lipgloss.Style { return base.Foreground(p[role]) }
	t := &Theme{
		Options:  o,
		Glyphs:   unicodeGlyphs(),
		Text:     base,
		Strong:   base.Bold(true),
		Muted:    ink(muted),
		Faint:    ink(faint),
		Holding:  ink(holding),
		Waiting:  ink(waiting),
		Critical: ink(critical).Bold(true),
		Warning:  ink(warning),
		Info:     ink(info),
		Unknown:  ink(unknown),
		Free:     ink(muted),
		Title:    ink(holding).Bold(true),
		Header:   ink(muted),
		Key:      base.Bold(true),
		Badge:    ink(muted).Background(p[raised]),

		BadgeWarning:  ink(onBright).Background(p[warning]).Bold(true),
		BadgeCritical: ink(onBright).Background(p[critical]).Bold(true),
		Frame:         ink(muted),
		FrameCritical: ink(critical),
		selected:      base.Background(p[selection]),
		fresh:         base.Background(p[freshness]),
	}
	if o.ASCII {
		t.Glyphs = asciiGlyphs()
	}
	if o.NoColor || o.Profile == colorprofile.ANSI {
		t.fresh = base.Bold(true)
	}
	if o.NoColor {
		if !o.ASCII {
			t.Glyphs.Cursor = t.Glyphs.Crumb // half a cell of a reversed row looks broken
		}
		t.Badge = base
		t.BadgeWarning = base.Reverse(true)
		t.BadgeCritical = base.Reverse(true).Bold(true)
		t.selected = base.Reverse(true)
	}
	return t
}

// Selected is a style on the selected row.
func (t *Theme) Selected(s lipgloss.Style) lipgloss.Style { return s.Inherit(t.selected) }

// Fresh is a style on a row that has just changed hands.
func (t *Theme) Fresh(s lipgloss.Style) lipgloss.Style { return s.Inherit(t.fresh) }
