package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/internal/text"
	"lockscope/theme"
)

// formRow is one thing that is asked for: typed, or chosen among a few.
type formRow struct {
	label   string
	typed   *field // nil: chosen
	choices []string
	at      int
	off     string // why there is nothing to choose; said in its place
}

func (r *formRow) choice() string {
	if r.at < len(r.choices) {
		return r.choices[r.at]
	}
	return ""
}

// choose takes a choice if there is one of that name.
func (r *formRow) choose(name string) {
	for i, c := range r.choices {
		if c == name {
			r.at = i
		}
	}
}

// form is a list of rows and a button. Enter goes on to the next row, but never onto the button: what it does must be
// chosen with tab or an arrow, and then entered.
type form struct {
	rows   []formRow
	button string
	at     int // the row; len(rows) is the button
	note   string
}

// paste says that pasting is off; a paste never reaches a field.
func (f *form) paste() { f.note = "pasting is off here: type it" }

// press takes a key. confirmed: the button was entered; closed: the form is left; changed: something is asked for
// otherwise than before.
func (f *form) press(msg tea.KeyPressMsg) (confirmed, closed, changed bool) {
	f.note = ""
	switch msg.String() {
	case "esc":
		return false, true, false
	case "enter":
		if f.at == len(f.rows) {
			return true, false, false
		}
		if f.step(1); f.at == len(f.rows) {
			f.at--
			f.note = "tab chooses " + f.button + ", enter then does it"
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
func (f *form) step(by int) {
	for n := len(f.rows) + 1; ; {
		f.at = (f.at + by + n) % n
		if f.at == len(f.rows) || f.rows[f.at].off == "" {
			return
		}
	}
}

func (f *form) edit(msg tea.KeyPressMsg) (changed bool) {
	if f.at == len(f.rows) {
		return false
	}
	r := &f.rows[f.at]
	if r.typed != nil {
		return r.typed.press(msg)
	}
	n := len(r.choices)
	switch msg.String() {
	case "right", "space", "l":
		r.at = (r.at + 1) % max(1, n)
	case "left", "h":
		r.at = (r.at + n - 1) % max(1, n)
	default:
		return false
	}
	return true
}

// lines are the rows.
func formLines(t *theme.Theme, f *form, width int) []line {
	var lines []line
	for i := range f.rows {
		r := &f.rows[i]
		mark, label := span{"  ", t.Text}, t.Muted
		if i == f.at {
			mark, label = span{t.Glyphs.Crumb + " ", t.Waiting}, t.Strong
		}
		l := append(line{mark}, line{{r.label, label}}.align(12, false, "")...)
		switch {
		case r.off != "":
			l = l.add(t.Muted, r.off)
		case r.typed != nil && i == f.at:
			l = append(l, r.typed.view(t, width-16)...)
		case r.typed != nil:
			l = l.add(t.Text, tailOf(text.Printable(r.typed.value()), width-16, t.Glyphs.Ellipsis))
		default:
			l = append(l, choiceLine(t, r, i == f.at, width-14)...)
		}
		lines = append(lines, l)
	}
	return lines
}

// choiceLine shows all choices where they fit, else the chosen one between two signs that there are more.
func choiceLine(t *theme.Theme, r *formRow, here bool, width int) line {
	chosen := t.Strong
	if here {
		chosen = t.Strong.Reverse(true)
	}
	var all line
	for i, c := range r.choices {
		if i == r.at {
			all = all.add(chosen, "["+text.Printable(c)+"]").add(t.Text, " ")
			continue
		}
		all = all.add(t.Muted, " "+text.Printable(c)+" ").add(t.Text, " ")
	}
	if all.width() <= width {
		return all
	}
	return line{{"< ", t.Muted}, {"[" + text.Printable(r.choice()) + "]", chosen}, {" >", t.Muted}}
}

// buttons are Cancel and the form's own.
func formButtons(t *theme.Theme, f *form, refused bool) line {
	cancel, confirm := t.Strong.Reverse(true), t.Text
	switch {
	case f.at == len(f.rows) && !refused:
		cancel, confirm = t.Text, t.BadgeWarning
	case refused:
		confirm = t.Muted
	}
	l := line{{"[ Cancel ]", cancel}, {"   ", t.Text}, {"[ " + f.button + " ]", confirm}, {"   ", t.Text}}
	if f.note != "" {
		return l.add(t.Warning, f.note)
	}
	return l
}
