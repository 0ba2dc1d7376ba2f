package tui

import (
	tea "charm.land/bubbletea/v2"

	"lockscope/theme"

	"lockscope/inspect/describe"
)

// filterInput is the filter of a list and the line in which it is typed. A screen that has one gives it the keys while
// it is open (TakeKey), has its action, and shows it (view).
type filterInput struct {
	filter
	parse func(string) filter
	field field
	open  bool
}

// newFilterInput makes one whose text parse reads: newFilter for locks, newWords for anything else.
func newFilterInput(parse func(string) filter) filterInput { return filterInput{parse: parse} }

// text is what was typed.
func (i *filterInput) text() string { return i.field.value() }

// key takes a key while the line is open. changed: the filter is another than before.
func (i *filterInput) key(msg tea.KeyPressMsg) (changed bool) {
	switch msg.String() {
	case "esc":
		return i.clear()
	case "enter":
		i.open = false
	default:
		if i.field.press(msg) {
			i.filter = i.parse(i.field.value())
			return true
		}
	}
	return false
}

// clear closes the line and shows everything again; false when everything was shown before.
func (i *filterInput) clear() (changed bool) {
	changed = i.field.value() != ""
	i.open, i.field, i.filter = false, field{}, filter{}
	return changed
}

// take gives a key to the filter while it is open, the arrows to the list below it: move moves its cursor, search is called
// when the words have changed. false: the filter is closed.
func (i *filterInput) take(msg tea.KeyPressMsg, move func(int), search func()) bool {
	switch key := msg.String(); {
	case !i.open:
		return false
	case key == "up":
		move(-1)
	case key == "down":
		move(1)
	case i.key(msg):
		search()
	}
	return true
}

// actions are the keys of a list's filter; cleared is called after it was cleared.
func (i *filterInput) actions(help string, cleared func()) []action {
	list := []action{{keys: []string{"/"}, shown: "/", hint: "filter", help: help, run: do(func() { i.open = true })}}
	if i.field.value() != "" {
		list = append(list, action{keys: []string{"esc"}, shown: "esc", hint: "show all", help: "clear the filter", run: do(func() {
			i.clear()
			cleared()
		})})
	}
	return list
}

// view is the filter at the end of a line; empty when there is none and none is typed.
func (i *filterInput) view(t *theme.Theme) line {
	switch {
	case i.open:
		return append(line{{"/ ", t.Key}}, i.field.view(t, 30)...).add(t.Text, " ")
	case i.field.value() != "":
		return line{{"/ ", t.Key}, {tailOf(describe.Printable(i.field.value()), 30, t.Glyphs.Ellipsis) + " ", t.Waiting}}
	default:
		return nil
	}
}

// bar is the filter at the start of a line, and beside it what is wrong with it; hint stands there while nothing is typed.
func (i *filterInput) bar(t *theme.Theme, hint string) line {
	l := append(line{{" ", t.Text}}, i.view(t)...)
	switch problem := i.problem(); {
	case problem != "":
		return l.add(t.Warning, " "+t.Glyphs.Warning+" "+problem)
	case i.field.value() == "":
		return l.add(t.Muted, " "+hint)
	default:
		return l
	}
}
