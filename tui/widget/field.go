package widget

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
)

// Field is a line of text that the user types. Its zero value is empty and ready. Pastes are
// separate messages, and only reach it through Paste.
type Field struct {
	input    textinput.Model
	ready    bool
	selected bool // all of it: typing replaces it
}

func NewField(value string) *Field {
	f := &Field{}
	f.Set(value)
	return f
}

// start makes the input. It never reads the clipboard, since pastes come from the terminal.
func (f *Field) start() {
	if f.ready {
		return
	}
	f.input, f.ready = textinput.New(), true
	f.input.KeyMap.Paste.SetEnabled(false)
	f.input.Focus()
}

// SelectAll selects the text, as for a search that starts fresh.
func (f *Field) SelectAll() { f.selected = f.Value() != "" }

// replace drops the selected text for new text or a deletion; false if nothing was dropped.
func (f *Field) replace(gone bool) bool {
	gone = gone && f.selected
	if f.selected = false; gone {
		f.input.Reset()
	}
	return gone
}

func (f *Field) Set(value string) {
	f.start()
	f.selected = false
	f.input.SetValue(value)
	f.input.CursorEnd()
}

func (f *Field) Value() string { return f.input.Value() }

// Press handles a key that edits or moves the cursor; false for one that does neither.
func (f *Field) Press(msg tea.KeyPressMsg) bool {
	f.start()
	value, at := f.input.Value(), f.input.Position()
	deletes := msg.Code == tea.KeyBackspace || msg.Code == tea.KeyDelete
	if f.replace(msg.Text != "" || deletes) && deletes {
		return true
	}
	f.input, _ = f.input.Update(msg) // drop its command, which blinks the cursor
	return f.input.Value() != value || f.input.Position() != at
}

// Paste inserts text at the cursor, without line breaks; false if there was none.
func (f *Field) Paste(msg tea.PasteMsg) bool {
	f.start()
	before := f.input.Value()
	f.replace(true)
	f.input, _ = f.input.Update(msg)
	return f.input.Value() != before
}

// View is the text with a visible cursor.
func (f *Field) View(t *theme.Theme, width int) Line {
	if f.selected {
		return Line{{TailOf(text.Printable(f.Value()), width, t.Glyphs.Ellipsis), t.Strong.Reverse()}}
	}
	value := []rune(f.Value())
	at := min(f.input.Position(), len(value))
	if !f.ready {
		at = len(value)
	}
	under, after := " ", ""
	if at < len(value) {
		under, after = text.Printable(string(value[at])), text.Printable(string(value[at+1:]))
	}
	before := TailOf(text.Printable(string(value[:at])), width-ansi.StringWidth(under), t.Glyphs.Ellipsis)
	l := Line{{before, t.Strong}, {under, t.Strong.Reverse()}}
	if room := width - l.Width(); after != "" && room > 0 {
		l = l.Add(t.Strong, ansi.Truncate(after, room, t.Glyphs.Ellipsis))
	}
	return l
}

// TailOf is the end of a text, as much as fits into the cells.
func TailOf(s string, width int, ellipsis string) string {
	w := ansi.StringWidth(s)
	if w <= width {
		return s
	}
	tail := ansi.Cut(s, w-width+1, w)
	if ansi.StringWidth(tail) >= width { // it begins with a wide character that would be cut in half
		tail = ansi.Cut(s, w-width+2, w)
	}
	return ellipsis + tail
}
