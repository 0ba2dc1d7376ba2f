package widget

import (
	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
)

// FormRow is one thing that is asked for: typed, or chosen among a few.
type FormRow struct {
	Label   string
	Typed   *Field // nil: chosen
	Choices []string
	At      int
	Off     string // the reason why there is nothing to choose, shown in its place
}

func (r *FormRow) Choice() string {
	if r.At < len(r.Choices) {
		return r.Choices[r.At]
	}
	return ""
}

// Choose takes a choice if there is one of that name.
func (r *FormRow) Choose(name string) {
	for i, c := range r.Choices {
		if c == name {
			r.At = i
		}
	}
}

// Form is a list of rows and a button. Enter goes on to the next row, but never onto the button: what it does must be
// chosen with tab or an arrow, and then entered.
type Form struct {
	Rows   []FormRow
	Button string
	At     int // the row; len(rows) is the button
	Note   string
}

// Paste shows a note: a paste never reaches a field.
func (f *Form) Paste() { f.Note = "pasting is off here: type it" }

// Press takes a key. confirmed: the button was entered; closed: the form is left; changed: something is asked for
// otherwise than before.
func (f *Form) Press(msg tea.KeyPressMsg) (confirmed, closed, changed bool) {
	f.Note = ""
	switch msg.String() {
	case "esc":
		return false, true, false
	case "enter":
		if f.At == len(f.Rows) {
			return true, false, false
		}
		if f.step(1); f.At == len(f.Rows) {
			f.At--
			f.Note = "tab chooses " + f.Button + ", enter then does it"
		}
	case "tab", "down":
		f.step(1)
	case "shift+tab", "up":
		f.step(-1)
	default:
		return false, false, f.edit(msg)
	}
	return false, false, false
}

// step goes to the next row that asks for something, or the button.
func (f *Form) step(by int) {
	for n := len(f.Rows) + 1; ; {
		f.At = (f.At + by + n) % n
		if f.At == len(f.Rows) || f.Rows[f.At].Off == "" {
			return
		}
	}
}

func (f *Form) edit(msg tea.KeyPressMsg) (changed bool) {
	if f.At == len(f.Rows) {
		return false
	}
	r := &f.Rows[f.At]
	if r.Typed != nil {
		return r.Typed.Press(msg)
	}
	n := len(r.Choices)
	switch msg.String() {
	case "right", "space", "l":
		r.At = (r.At + 1) % max(1, n)
	case "left", "h":
		r.At = (r.At + n - 1) % max(1, n)
	default:
		return false
	}
	return true
}

// FormLines are the rows.
func FormLines(t *theme.Theme, f *Form, width int) []Line {
	var lines []Line
	for i := range f.Rows {
		r := &f.Rows[i]
		mark, label := Span{"  ", t.Text}, t.Muted
		if i == f.At {
			mark, label = Span{t.Glyphs.Breadcrumb + " ", t.Waiting}, t.Strong
		}
		l := append(Line{mark}, Line{{r.Label, label}}.Align(12, false, "")...)
		switch {
		case r.Off != "":
			l = l.Add(t.Muted, r.Off)
		case r.Typed != nil && i == f.At:
			l = append(l, r.Typed.View(t, width-16)...)
		case r.Typed != nil:
			l = l.Add(t.Text, TailOf(text.Printable(r.Typed.Value()), width-16, t.Glyphs.Ellipsis))
		default:
			l = append(l, choiceLine(t, r, i == f.At, width-14)...)
		}
		lines = append(lines, l)
	}
	return lines
}

// choiceLine shows all choices where they fit, else the chosen one between two signs that there are more.
func choiceLine(t *theme.Theme, r *FormRow, here bool, width int) Line {
	chosen := t.Strong
	if here {
		chosen = t.Strong.Reverse(true)
	}
	var all Line
	for i, c := range r.Choices {
		if i == r.At {
			all = all.Add(chosen, "["+text.Printable(c)+"]").Add(t.Text, " ")
			continue
		}
		all = all.Add(t.Muted, " "+text.Printable(c)+" ").Add(t.Text, " ")
	}
	if all.Width() <= width {
		return all
	}
	return Line{{"< ", t.Muted}, {"[" + text.Printable(r.Choice()) + "]", chosen}, {" >", t.Muted}}
}

// FormButtons are the form's button and the cancel key. refused: the form's action is not possible.
func FormButtons(t *theme.Theme, f *Form, refused bool) Line {
	confirm := t.Text
	switch {
	case refused:
		confirm = t.Muted
	case f.At == len(f.Rows):
		confirm = t.BadgeWarning
	}
	l := Line{{"[ " + f.Button + " ]", confirm}, {"   ", t.Text}}
	if f.Note != "" {
		return l.Add(t.Warning, f.Note)
	}
	return l.Add(t.Muted, "esc cancels")
}
