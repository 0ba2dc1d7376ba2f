package tui

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"lockscope/internal/text"
	"lockscope/theme"
)

// field is a line of text that is being typed. Its zero value is empty and ready. Pastes are messages of their own, and
// reach it only where paste is called.
type field struct {
	input textinput.Model
	ready bool
}

func newField(value string) *field {
	f := &field{}
	f.set(value)
	return f
}

// start makes the input. It reads no clipboard by itself: a paste comes from the terminal.
func (f *field) start() {
	if f.ready {
		return
	}
	f.input, f.ready = textinput.New(), true
	f.input.KeyMap.Paste.SetEnabled(false)
	f.input.Focus()
}

func (f *field) set(value string) {
	f.start()
	f.input.SetValue(value)
	f.input.CursorEnd()
}

func (f *field) value() string { return f.input.Value() }

// press takes a key that edits or moves the cursor; false for one that does neither.
func (f *field) press(msg tea.KeyPressMsg) bool { return f.update(msg) }

func (f *field) paste(msg tea.PasteMsg) bool { return f.update(msg) }

func (f *field) update(msg tea.Msg) bool {
	f.start()
	value, at := f.input.Value(), f.input.Position()
	f.input, _ = f.input.Update(msg) // its command makes the cursor blink, which ours does not
	return f.input.Value() != value || f.input.Position() != at
}

// view is the text with a cursor, which stays in sight.
func (f *field) view(t *theme.Theme, width int) line {
	value := []rune(f.value())
	at := min(f.input.Position(), len(value))
	if !f.ready {
		at = len(value)
	}
	under, after := " ", ""
	if at < len(value) {
		under, after = text.Printable(string(value[at])), text.Printable(string(value[at+1:]))
	}
	before := tailOf(text.Printable(string(value[:at])), width-ansi.StringWidth(under), t.Glyphs.Ellipsis)
	l := line{{before, t.Strong}, {under, t.Strong.Reverse(true)}}
	if room := width - l.width(); after != "" && room > 0 {
		l = l.add(t.Strong, ansi.Truncate(after, room, t.Glyphs.Ellipsis))
	}
	return l
}

// tailOf is the end of a text that fits into the cells.
func tailOf(s string, cells int, ellipsis string) string {
	w := ansi.StringWidth(s)
	if w <= cells {
		return s
	}
	return ellipsis + ansi.Cut(s, w-cells+1, w)
}
