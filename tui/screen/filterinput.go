package screen

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/widget"

	"github.com/lockscope/lockscope/inspect/describe"
)

// FilterInput is a list's filter and the line where the user types it. A screen with one
// implements Filtering, and includes its actions and its view.
type FilterInput struct {
	Filter
	Open bool
	// Move moves the list's cursor while the user types the filter. Changed applies the filter.
	// Chosen, unless nil, is called before the line closes, since the user was looking for the
	// selected item.
	Move    func(by int)
	Changed func()
	Chosen  func()
	// Words says where a word is searched. It is shown next to a typed word.
	Words string
	parse func(string) Filter
	field widget.Field
	good  string // the last valid text
}

// NewFilterInput makes one with a parser: NewFilter for locks, NewWords for anything else.
func NewFilterInput(parse func(string) Filter) FilterInput { return FilterInput{parse: parse} }

// Wordy reports whether a term searches all texts of an item.
func (f Filter) Wordy() bool {
	return slices.ContainsFunc(f.alternatives, func(terms []term) bool {
		return slices.ContainsFunc(terms, func(t term) bool { return t.in != nil })
	})
}

// Text is the text as typed, not trimmed.
func (i *FilterInput) Text() string { return i.field.Value() }

// Update handles a key or a paste while the line is open; false if it is closed.
func (i *FilterInput) Update(msg tea.Msg) bool {
	if !i.Open {
		return false
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		i.key(msg)
	case tea.PasteMsg:
		if i.field.Paste(msg) {
			i.typed()
		}
	}
	return true
}

func (i *FilterInput) key(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "up":
		i.Move(-1)
	case "down":
		i.Move(1)
	case "enter", "esc":
		if i.Chosen != nil {
			i.Chosen()
		}
		if i.Open = false; msg.String() == "esc" && i.Clear() {
			i.Changed()
		}
	default:
		if i.field.Press(msg) {
			i.typed()
		}
	}
}

// typed applies the typed filter. While that is invalid, the rows stay as they were. While the rest of
// a field is being typed, the other terms apply.
func (i *FilterInput) typed() {
	filter := i.parse(i.field.Value())
	if filter.Problem() == "" {
		i.good = i.field.Value()
	} else if !endsInField(i.good) {
		filter.alternatives, filter.Timed = i.alternatives, i.Timed
	}
	i.Filter = filter
	i.Changed()
}

// Set filters by a text as if the user had typed and kept it.
func (i *FilterInput) Set(text string) {
	i.Open = false
	i.field.Set(text)
	i.typed()
}

// Clear closes the line and removes the filter; false if there was none.
func (i *FilterInput) Clear() (changed bool) {
	changed = i.field.Value() != ""
	i.Open, i.field, i.Filter, i.good = false, widget.Field{}, Filter{}, ""
	return changed
}

// start opens the line; typing replaces the current filter.
func (i *FilterInput) start() {
	i.Open = true
	i.field.SelectAll()
}

// Actions are the keys of a list's filter.
func (i *FilterInput) Actions(help string) []Action {
	list := []Action{{Keys: []string{"/"}, Shown: "/", Hint: "filter", Help: help, Run: Do(i.start)}}
	if i.field.Value() != "" {
		list = append(list,
			Action{
				Keys: []string{"n"}, Shown: "n N", Help: "the next match, the previous one",
				Run: Do(func() { i.Move(1) }),
			},
			Action{Keys: []string{"N"}, Run: Do(func() { i.Move(-1) })})
		list = append(list, Action{
			Keys: []string{"esc"}, Shown: "esc", Hint: "clear filter", Help: "clear the filter",
			Run: Do(func() {
				i.Clear()
				i.Changed()
			}),
		})
	}
	return list
}

// View is the filter at the end of a line of some width; empty without a filter or an open field.
func (i *FilterInput) View(t *theme.Theme, width int) widget.Line {
	room := max(30, width/2)
	switch {
	case i.Open:
		return append(widget.Line{{"/ ", t.Key}}, i.field.View(t, room)...).Add(t.Text, " ")
	case i.field.Value() != "":
		text := widget.TailOf(describe.Printable(i.field.Value()), room, t.Glyphs.Ellipsis)
		return widget.Line{{"/ " + text, t.BadgeWarning}, {" ", t.Text}} // warns of hidden rows
	default:
		return nil
	}
}

// Prompt is the line where the filter is typed. It stays afterwards if the filter has a problem;
// otherwise it is nil. It ends with the number of matches, and shows hint while the field is empty.
func (i *FilterInput) Prompt(t *theme.Theme, hint string, found widget.Line, width int) widget.Line {
	problem := i.Problem()
	if !i.Open && problem == "" {
		return nil
	}
	words, found := append(widget.Line{{" ", t.Text}}, i.View(t, width)...), found.Add(t.Text, " ")
	switch {
	case problem != "":
		words = words.Add(t.Warning, " "+t.Glyphs.Warning+" "+problem)
		if words.Width()+widget.Gap+found.Width() > width { // errors come first
			found = nil
		}
	case i.field.Value() == "":
		words = words.Add(t.Muted, " "+hint)
	case i.Words != "" && i.Wordy():
		words = words.Add(t.Muted, " "+i.Words)
	}
	return widget.KeepRight(words, found, width, t.Glyphs.Ellipsis)
}
