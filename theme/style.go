package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Style is the colours and the weight of text in one line; the zero value is the terminal's own.
// A frame has a thousand pieces of text. A style of lipgloss, which can lay out blocks, is ten
// times as large.
type Style struct {
	foreground, background color.Color
	bold, reverse          bool
	begin                  string // the escape sequence before the text
}

// Render returns text in this style.
func (s Style) Render(text string) string {
	if s.begin == "" || text == "" {
		return text
	}
	return s.begin + text + ansi.ResetStyle
}

// Bold returns the style in bold.
func (s Style) Bold() Style {
	s.bold = true
	return s.sealed()
}

// Reverse returns the style with text and background swapped.
func (s Style) Reverse() Style {
	s.reverse = true
	return s.sealed()
}

// In returns the style with another colour of the text.
func (s Style) In(foreground color.Color) Style {
	s.foreground = foreground
	return s.sealed()
}

// On returns the style on another background.
func (s Style) On(background color.Color) Style {
	s.background = background
	return s.sealed()
}

// Inherit returns the style with what it leaves to the terminal taken from another one.
func (s Style) Inherit(from Style) Style {
	if !coloured(s.foreground) {
		s.foreground = from.foreground
	}
	if !coloured(s.background) {
		s.background = from.background
	}
	s.bold, s.reverse = s.bold || from.bold, s.reverse || from.reverse
	return s.sealed()
}

// Foreground returns the colour of the text, or [lipgloss.NoColor] for the terminal's own.
func (s Style) Foreground() color.Color { return orNone(s.foreground) }

// Background returns the colour behind the text, or [lipgloss.NoColor] for the terminal's own.
func (s Style) Background() color.Color { return orNone(s.background) }

// Reversed reports whether text and background are swapped.
func (s Style) Reversed() bool { return s.reverse }

func (s Style) sealed() Style {
	var a ansi.Style
	if s.bold {
		a = a.Bold()
	}
	if s.reverse {
		a = a.Reverse(true)
	}
	if coloured(s.foreground) {
		a = a.ForegroundColor(s.foreground)
	}
	if coloured(s.background) {
		a = a.BackgroundColor(s.background)
	}
	if s.begin = ""; len(a) > 0 {
		s.begin = a.String()
	}
	return s
}

func coloured(c color.Color) bool { return orNone(c) != color.Color(lipgloss.NoColor{}) }

func orNone(c color.Color) color.Color {
	if c == nil {
		return lipgloss.NoColor{}
	}
	return c
}
