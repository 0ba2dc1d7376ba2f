package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"lockscope/theme"

	"lockscope/inspect/describe"
)

// field is a line of text that is being typed. Pastes are messages of their own and never reach it.
type field struct{ runes []rune }

func (f *field) value() string { return string(f.runes) }

// press takes a key that edits; false for one that does not.
func (f *field) press(msg tea.KeyPressMsg) bool {
	switch msg.String() {
	case "backspace", "ctrl+h":
		f.runes = f.runes[:max(0, len(f.runes)-1)]
	case "ctrl+u":
		f.runes = nil
	case "ctrl+w":
		f.word()
	default:
		if msg.Text == "" {
			return false
		}
		f.runes = append(f.runes, []rune(msg.Text)...)
	}
	return true
}

// word removes the last word.
func (f *field) word() {
	n := len(f.runes)
	for n > 0 && f.runes[n-1] == ' ' {
		n--
	}
	for n > 0 && f.runes[n-1] != ' ' {
		n--
	}
	f.runes = f.runes[:n]
}

// view is the text, its end in sight, and a cursor.
func (f *field) view(t *theme.Theme, width int) line {
	l := line{{tailOf(describe.Printable(f.value()), width-1, t.Glyphs.Ellipsis), t.Strong}}
	return l.add(t.Strong.Reverse(true), " ")
}

// tailOf is the end of a text that fits into the cells.
func tailOf(s string, cells int, ellipsis string) string {
	w := ansi.StringWidth(s)
	if w <= cells {
		return s
	}
	return ellipsis + ansi.Cut(s, w-cells+1, w)
}
