package screen

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/theme"
	"github.com/lockscope/lockscope/tui/widget"

	tea "charm.land/bubbletea/v2"
)

// Action is what a key does. The footer and the help are made from lists of actions.
type Action struct {
	// Keys are spelled as in tea.KeyPressMsg.String.
	Keys []string
	// Shown has the keys as help and footer show them. Hint is a word or two for the footer;
	// empty hides it there. Help is a line.
	Shown, Hint, Help string
	// Moves is set if it only moves a cursor.
	Moves bool
	// Vital is set if the footer must always show it. Late actions come after all others.
	Vital, Late bool
	// Writes is set if it changes something on a server.
	Writes bool
	// Disabled returns the reason why it is disabled; nil or empty if it is not.
	Disabled func() string
	Run      func() tea.Cmd
}

// Press runs the action of a key; false if none has it.
func Press(host Context, actions []Action, key string) (tea.Cmd, bool) {
	for _, a := range actions {
		if !slices.Contains(a.Keys, key) {
			continue
		}
		if why := a.Why(); why != "" {
			host.Flash(why)
			return nil, true
		}
		return a.Run(), true
	}
	return nil, false
}

// Why is the reason why the action is disabled; empty if it is not.
func (a *Action) Why() string {
	if a.Disabled == nil {
		return ""
	}
	return a.Disabled()
}

// Do adapts a function that needs no command.
func Do(f func()) func() tea.Cmd {
	return func() tea.Cmd {
		f()
		return nil
	}
}

// OpenWhere opens a lock's chain or, for a backend, the screen of backends.
func OpenWhere(host Context, id inspect.ID, b *inspect.Backend) {
	switch {
	case id != inspect.ID{}:
		host.Go(Chain, Subject{Lock: id})
	case b != nil:
		host.Go(Backends, Subject{Lock: inspect.ID{Backend: b.Name}})
	}
}

// BackAction goes back to the previous screen.
func BackAction(host Context) Action {
	return Action{
		Keys: []string{"esc", "h", "left"}, Shown: "esc h", Hint: "back", Help: "back to where you came from",
		Run: Do(host.Back),
	}
}

// LeaveAction goes back from a pane to the list of its screen. It comes before any other action
// with those keys.
func LeaveAction(leave func()) Action {
	return Action{
		Keys: []string{"esc", "h", "left"}, Shown: "esc h", Hint: "list", Help: "back to the list", Run: Do(leave),
	}
}

// OnePane disables tab on a screen with one pane.
func OnePane() Action {
	return Action{
		Keys: []string{"tab"}, Shown: "tab", Help: "next pane",
		Disabled: func() string { return "this screen has one pane" },
	}
}

// Moves are the keys that move a cursor; every list has them.
func Moves(move func(int), page func() int) []Action {
	const all = 1 << 30
	by := func(n int) func() tea.Cmd { return Do(func() { move(n) }) }
	half := func() int { return max(1, page()/2) }
	return []Action{
		{Keys: []string{"up", "k"}, Shown: "arrows jk", Help: "move", Moves: true, Run: by(-1)},
		{Keys: []string{"down", "j"}, Moves: true, Run: by(1)},
		{
			Keys: []string{"pgup", "ctrl+b"}, Shown: "pgup pgdn", Help: "move by a page", Moves: true,
			Run: Do(func() { move(-page()) }),
		},
		{Keys: []string{"pgdown", "ctrl+f"}, Moves: true, Run: Do(func() { move(page()) })},
		{
			Keys: []string{"ctrl+d"}, Shown: "ctrl-d ctrl-u", Help: "move by half a page", Moves: true,
			Run: Do(func() { move(half()) }),
		},
		{Keys: []string{"ctrl+u"}, Moves: true, Run: Do(func() { move(-half()) })},
		{Keys: []string{"g", "home"}, Shown: "g G", Help: "go to the first, or to the last", Moves: true, Run: by(-all)},
		{Keys: []string{"G", "end"}, Moves: true, Run: by(all)},
	}
}

func Wheel(msg tea.MouseWheelMsg) int {
	switch msg.Button {
	case tea.MouseWheelUp:
		return -3
	case tea.MouseWheelDown:
		return 3
	default:
		return 0
	}
}

// Hint is an action as the footer offers it.
type Hint struct {
	Action
	widget.Line
}

// Hints returns actions that fit into room cells. Disabled ones are dim, and the first to be left
// out if space is short. When pressed, they say why.
func Hints(t *theme.Theme, actions []Action, room int) []Hint {
	var all []Hint
	var dim []bool
	needed := 0 // by the enabled actions
	for _, a := range actions {
		if a.Hint == "" {
			continue
		}
		off := a.Why() != ""
		key, text := t.Key, t.Muted
		if off {
			key, text = t.Faint, t.Faint
		}
		hint := Hint{a, widget.Line{{" " + KeysIn(t, strings.Fields(a.Shown)[0]), key}, {" " + a.Hint + " ", text}}}
		if !off {
			needed += hint.Width()
		}
		all, dim = append(all, hint), append(dim, off)
	}
	var shown []Hint
	used, spare := 0, room-needed
	for i, hint := range all {
		switch {
		case dim[i] && hint.Width() > spare:
			continue
		case dim[i]:
			spare -= hint.Width()
		case used+hint.Width() > room && hint.Late:
			return shown
		case used+hint.Width() > room:
			continue
		}
		shown = append(shown, hint)
		used += hint.Width()
	}
	return shown
}

// KeysIn writes keys in the theme's characters.
func KeysIn(t *theme.Theme, shown string) string {
	if t.Options.ASCII {
		return strings.NewReplacer("←→", "left/right", "↑↓", "up/down", "←", "left", "→", "right").Replace(shown)
	}
	return shown
}

// HintLine joins the hints in one line.
func HintLine(t *theme.Theme, actions []Action, room int) widget.Line {
	var l widget.Line
	for _, h := range Hints(t, actions, room) {
		l = append(l, h.Line...)
	}
	return l
}

// Cannot is a disabled key, with the reason.
func Cannot(key, help, why string) Action {
	return Action{Keys: []string{key}, Shown: key, Help: help, Disabled: func() string { return why }}
}

// FormActions are the keys of a form, for the footer.
func FormActions(f *widget.Form) []Action {
	cancel := Action{Shown: "esc", Hint: "cancel"}
	switch {
	case f.OnCancel() && len(f.Rows) == 0:
		return []Action{{Shown: "enter/esc", Hint: "cancel"}, {Shown: "tab", Hint: "go to [" + f.Button + "]"}}
	case f.OnCancel():
		return []Action{{Shown: "enter/esc", Hint: "cancel"}}
	}
	list := []Action{{Shown: "enter", Hint: strings.ToUpper(f.Button)}}
	if len(f.Rows) > 1 {
		list = append(list, Action{Shown: "tab", Hint: "next field"})
	}
	if !f.OnButton() && f.Rows[f.At].Typed == nil {
		list = append(list, Action{Shown: "←→", Hint: "change"})
	}
	return append(list, cancel)
}

// TypingActions are the keys while the user types a filter, for the footer.
func TypingActions() []Action {
	return []Action{
		{Shown: "enter", Hint: "keep the filter"}, {Shown: "esc", Hint: "clear it"}, {Shown: "up/down", Hint: "move"},
	}
}
