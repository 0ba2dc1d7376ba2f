package tui

import (
	"slices"
	"strings"

	"lockscope/inspect"
	"lockscope/theme"

	tea "charm.land/bubbletea/v2"
)

// action is one thing a key does. The footer and the help are made from lists of them.
type action struct {
	// keys as tea.KeyPressMsg.String spells them.
	keys []string
	// shown is how the keys are written in help and footer, hint a word or two for the footer (empty: not there),
	// help a line.
	shown, hint, help string
	// moves: it only moves a cursor.
	moves bool
	// vital: the footer has it whatever else fits.
	vital bool
	// writes marks what changes something on a server.
	writes bool
	// disabled says why it cannot be done now; nil or empty: it can.
	disabled func() string
	run      func() tea.Cmd
}

// runKey runs the action of a key; false when none has it.
func runKey(host Context, actions []action, key string) (tea.Cmd, bool) {
	for _, a := range actions {
		if !slices.Contains(a.keys, key) {
			continue
		}
		if why := a.why(); why != "" {
			host.Flash(why)
			return nil, true
		}
		return a.run(), true
	}
	return nil, false
}

// why says why the action cannot be done now; empty: it can.
func (a *action) why() string {
	if a.disabled == nil {
		return ""
	}
	return a.disabled()
}

// do makes what an action runs of a function that needs no command.
func do(f func()) func() tea.Cmd {
	return func() tea.Cmd {
		f()
		return nil
	}
}

// openWhere opens a lock's chain or, of what is about a backend, the backends.
func openWhere(host Context, id inspect.ID, b *inspect.Backend) {
	switch {
	case id != inspect.ID{}:
		host.Go(chainScreen, subject{lock: id})
	case b != nil:
		host.Go(backendsScreen, subject{lock: inspect.ID{Backend: b.Name}})
	}
}

// backAction goes back to the screen before.
func backAction(host Context) action {
	return action{keys: []string{"esc", "h", "left"}, shown: "esc h", hint: "back", help: "back to where you came from", run: do(host.Back)}
}

// onePane says what tab does where there is one pane.
func onePane() action {
	return action{keys: []string{"tab"}, shown: "tab", help: "next pane", disabled: func() string { return "this screen has one pane" }}
}

// moves are the keys that move a cursor; every list has them.
func moves(move func(int), page func() int) []action {
	const all = 1 << 30
	by := func(n int) func() tea.Cmd { return do(func() { move(n) }) }
	return []action{
		{keys: []string{"up", "k"}, shown: "arrows jk", help: "move", moves: true, run: by(-1)},
		{keys: []string{"down", "j"}, moves: true, run: by(1)},
		{keys: []string{"pgup", "ctrl+b"}, shown: "pgup pgdn", help: "move by a page", moves: true, run: do(func() { move(-page()) })},
		{keys: []string{"pgdown", "ctrl+f"}, moves: true, run: do(func() { move(page()) })},
		{keys: []string{"g", "home"}, shown: "g G", help: "to the first, to the last", moves: true, run: by(-all)},
		{keys: []string{"G", "end"}, moves: true, run: by(all)},
	}
}

func wheel(msg tea.MouseWheelMsg) int {
	switch msg.Button {
	case tea.MouseWheelUp:
		return -3
	case tea.MouseWheelDown:
		return 3
	default:
		return 0
	}
}

// hintLine offers actions in at most room cells. Those that cannot be done now are dim, and the first to be left out where
// space is short: pressed, they say why.
func hintLine(t *theme.Theme, actions []action, room int) line {
	var hints []line
	var dim []bool
	needed := 0 // by those that can be done
	for _, a := range actions {
		if a.hint == "" {
			continue
		}
		off := a.why() != ""
		key, text := t.Key, t.Muted
		if off {
			key, text = t.Faint, t.Faint
		}
		hint := line{{" " + strings.Fields(a.shown)[0], key}, {" " + a.hint + " ", text}}
		if !off {
			needed += hint.width()
		}
		hints, dim = append(hints, hint), append(dim, off)
	}
	var l line
	spare := room - needed
	for i, hint := range hints {
		switch {
		case dim[i] && hint.width() > spare:
			continue
		case dim[i]:
			spare -= hint.width()
		case l.width()+hint.width() > room:
			return l
		}
		l = append(l, hint...)
	}
	return l
}

// formActions are the keys of a form, for the footer.
func formActions(f *form) []action {
	if f.at == len(f.rows) {
		return []action{{shown: "enter", hint: f.button}, {shown: "esc", hint: "cancel"}}
	}
	return []action{{shown: "tab", hint: "next"}, {shown: "←→", hint: "change"}, {shown: "esc", hint: "cancel"}}
}

// typingActions are the keys while a filter is typed, for the footer.
func typingActions() []action {
	return []action{{shown: "enter", hint: "keep the filter"}, {shown: "esc", hint: "show all"}, {shown: "up/down", hint: "move"}}
}
