package screen

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/theme"
	"lockscope/tui/widget"

	"lockscope/inspect/describe"
)

// FilterInput is the filter of a list and the line in which it is typed. A screen that has one gives it the keys while
// it is open (TakeKey), has its action, and shows it (view).
type FilterInput struct {
	Filter
	parse func(string) Filter
	field widget.Field
	Open  bool
}

// NewFilterInput makes one whose text parse reads: newFilter for locks, newWords for anything else.
func NewFilterInput(parse func(string) Filter) FilterInput { return FilterInput{parse: parse} }

// Text is what was typed.
func (i *FilterInput) Text() string { return i.field.Value() }

// Key takes a key while the line is open. changed: the filter is another than before.
func (i *FilterInput) Key(msg tea.KeyPressMsg) (changed bool) {
	switch msg.String() {
	case "esc":
		return i.Clear()
	case "enter":
		i.Open = false
	default:
		if i.field.Press(msg) {
			i.Filter = i.parse(i.field.Value())
			return true
		}
	}
	return false
}

// Clear closes the line and shows everything again; false when everything was shown before.
func (i *FilterInput) Clear() (changed bool) {
	changed = i.field.Value() != ""
	i.Open, i.field, i.Filter = false, widget.Field{}, Filter{}
	return changed
}

// Take gives a key to the filter while it is open, the arrows to the list below it: move moves its cursor, search is called
// when the words have changed. false: the filter is closed.
func (i *FilterInput) Take(msg tea.KeyPressMsg, move func(int), search func()) bool {
	switch key := msg.String(); {
	case !i.Open:
		return false
	case key == "up":
		move(-1)
	case key == "down":
		move(1)
	case i.Key(msg):
		search()
	}
	return true
}

// Actions are the keys of a list's filter; cleared is called after it was cleared.
func (i *FilterInput) Actions(help string, cleared func()) []Action {
	list := []Action{{Keys: []string{"/"}, Shown: "/", Hint: "filter", Help: help, Run: Do(func() { i.Open = true })}}
	if i.field.Value() != "" {
		list = append(list, Action{Keys: []string{"esc"}, Shown: "esc", Hint: "show all", Help: "clear the filter", Run: Do(func() {
			i.Clear()
			cleared()
		})})
	}
	return list
}

// View is the filter at the end of a line; empty when there is none and none is typed.
func (i *FilterInput) View(t *theme.Theme) widget.Line {
	switch {
	case i.Open:
		return append(widget.Line{{"/ ", t.Key}}, i.field.View(t, 30)...).Add(t.Text, " ")
	case i.field.Value() != "":
		return widget.Line{{"/ ", t.Key}, {widget.TailOf(describe.Printable(i.field.Value()), 30, t.Glyphs.Ellipsis) + " ", t.Waiting}}
	default:
		return nil
	}
}

// Bar is the filter at the start of a line, and beside it what is wrong with it; hint stands there while nothing is typed.
func (i *FilterInput) Bar(t *theme.Theme, hint string) widget.Line {
	l := append(widget.Line{{" ", t.Text}}, i.View(t)...)
	switch problem := i.Problem(); {
	case problem != "":
		return l.Add(t.Warning, " "+t.Glyphs.Warning+" "+problem)
	case i.field.Value() == "":
		return l.Add(t.Muted, " "+hint)
	default:
		return l
	}
}
