package widget

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/internal/text"
	"github.com/lockscope/lockscope/theme"
)

// FormRow is one input of a form: typed text, or a choice from a list.
type FormRow struct {
	Label   string
	Typed   *Field // nil if the user chooses from a list
	Choices []string
	At      int
	Off     string // the reason why there is no choice, shown instead
	chosen  bool   // by the user
}

func (r *FormRow) Choice() string {
	if r.At < len(r.Choices) {
		return r.Choices[r.At]
	}
	return ""
}

// Choose selects the choice of that name, if there is one.
func (r *FormRow) Choose(name string) {
	for i, c := range r.Choices {
		if c == name {
			r.At = i
		}
	}
}

// Offer replaces the choices and selects the wanted one. A choice made by the user stays if it is
// still offered.
func (r *FormRow) Offer(choices []string, wanted string) {
	was := r.Choice()
	r.Choices, r.At = choices, 0
	if r.Choose(wanted); r.chosen {
		r.Choose(was)
	}
}

// Form is a list of rows and two buttons, its own and Cancel. Enter in any row presses the form's own
// button. Tab and the arrows move between the rows.
type Form struct {
	Rows   []FormRow
	Button string
	At     int // the row; then the button, then Cancel
	Note   string
	// Check explains why the button cannot be pressed, for Note; empty if it can. It may be nil.
	Check func() string
}

// OnButton and OnCancel report which button has the focus.
func (f *Form) OnButton() bool { return f.At == len(f.Rows) }

func (f *Form) OnCancel() bool { return f.At > len(f.Rows) }

// Paste shows a note, since a paste never reaches a field.
func (f *Form) Paste() { f.Note = "pasting is off here: type it" }

// Press handles a key. confirmed is set if the button was pressed, closed if the form was left,
// and changed if an input changed.
func (f *Form) Press(msg tea.KeyPressMsg) (confirmed, closed, changed bool) {
	f.Note = ""
	switch msg.String() {
	case "esc":
		return false, true, false
	case "enter":
		return f.enter()
	case "tab", "down":
		f.step(1)
	case "shift+tab", "up":
		f.step(-1)
	default:
		return false, false, f.edit(msg)
	}
	return false, false, false
}

func (f *Form) enter() (confirmed, closed, changed bool) {
	if f.OnCancel() {
		return false, true, false
	}
	if f.Check != nil {
		f.Note = f.Check()
	}
	return f.Note == "", false, false
}

// step moves to the next row with an input, or to a button. Going back from the first row leads to
// the form's own button.
func (f *Form) step(by int) {
	if f.At == 0 && by < 0 && len(f.Rows) > 0 {
		f.At = len(f.Rows) + 1
	}
	for n := len(f.Rows) + 2; ; {
		f.At = (f.At + by + n) % n
		if f.At >= len(f.Rows) || f.Rows[f.At].Off == "" {
			return
		}
	}
}

func (f *Form) edit(msg tea.KeyPressMsg) (changed bool) {
	if f.At >= len(f.Rows) {
		if key := msg.String(); key == "left" || key == "right" {
			f.At = 2*len(f.Rows) + 1 - f.At // the other button
		}
		return false
	}
	r := &f.Rows[f.At]
	if r.Typed != nil {
		return r.Typed.Press(msg)
	}
	n := len(r.Choices)
	switch msg.String() {
	case "right", "space":
		r.At = (r.At + 1) % max(1, n)
	case "left":
		r.At = (r.At + n - 1) % max(1, n)
	default:
		if msg.Text != "" {
			f.Note = "left and right choose here"
		}
		return false
	}
	r.chosen = true
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

// choiceLine shows all choices if they fit, else the chosen one and how many there are.
func choiceLine(t *theme.Theme, r *FormRow, here bool, width int) Line {
	chosen := t.Strong
	if here {
		chosen = t.Strong.Reverse()
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
	return Line{{"< ", t.Muted}, {"[" + text.Printable(r.Choice()) + "]", chosen}, {fmt.Sprintf(" > %d of %d", r.At+1, len(r.Choices)), t.Muted}}
}

// FormButtons are the form's buttons. refused is set if the form's action is not possible.
func FormButtons(t *theme.Theme, f *Form, refused bool) Line {
	confirm, cancel := t.Text, t.Text
	switch {
	case f.OnCancel():
		cancel = t.Strong.Reverse()
	case refused:
		confirm = t.Muted
	case f.OnButton():
		confirm = t.BadgeWarning
	}
	l := Line{{"[ " + f.Button + " ]", confirm}, {"   ", t.Text}, {"[ Cancel ]", cancel}}
	if f.Note != "" {
		return l.Add(t.Warning, "   "+f.Note)
	}
	return l
}
