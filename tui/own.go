package tui

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lockscope/tui/locks"
	"lockscope/tui/screen"
)

// ownKey matches the spelling of a key that may stand for another.
var ownKey = regexp.MustCompile(`^((ctrl|alt|shift)\+)*([!-~]|f[0-9]{1,2}|space|tab|up|down|left|right|home|end|pgup|pgdown|insert|delete|backspace)$`)

// Look has the part of a configuration that users make the screen their own by.
type Look struct {
	// Filters and Views of the list of locks, by name; Columns are those of its table (none: the usual ones).
	Filters map[string]string
	Views   map[string]locks.View
	Columns []string
	// Keys have the key or the screen that each key of one's own, as it is pressed, stands for.
	Keys map[string]string
}

// CheckLook finds what cannot be used of a look.
func CheckLook(look Look) error {
	for _, name := range slices.Sorted(maps.Keys(look.Filters)) {
		if problem := screen.NewFilter(look.Filters[name]).Problem(); problem != "" {
			return fmt.Errorf("filters: %s: %s", name, problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(look.Views)) {
		if err := look.Views[name].Check(); err != nil {
			return fmt.Errorf("views: %s: %w", name, err)
		}
	}
	if err := (locks.View{Columns: look.Columns}).Check(); err != nil {
		return err
	}
	keys := look.Keys
	for _, pressed := range slices.Sorted(maps.Keys(keys)) {
		switch {
		case pressed == "ctrl+c" || !ownKey.MatchString(pressed):
			return fmt.Errorf("keys: %q cannot be given another meaning (write a letter, f2, ctrl+x; not esc, enter or ctrl+c)", pressed)
		case meant(keys[pressed]) == "":
			return fmt.Errorf("keys: %s: %q is no key and no screen (write one that the help lists, or the name of a screen)", pressed, keys[pressed])
		}
	}
	return nil
}

// meant is the key of a key's or a screen's name; empty for neither.
func meant(name string) string {
	for i, e := range screenList() {
		if string(e.name) == name {
			return string(rune('1' + i))
		}
	}
	if namedKeys()[name] != 0 || len(name) == 1 && name > " " && name <= "~" {
		return name
	}
	return ""
}

// translate is the key that a key of one's own stands for.
func (m *Model) translate(msg tea.KeyPressMsg) tea.KeyPressMsg {
	if name := meant(m.options.Keys[msg.String()]); name != "" {
		return keyPress(name)
	}
	return msg
}

// Key names what is pressed for a key: another one where that means something else by configuration.
func (w *world) Key(name string) string {
	own := w.options.Keys
	if own[name] == "" {
		return name
	}
	for _, pressed := range slices.Sorted(maps.Keys(own)) {
		if meant(own[pressed]) == name {
			return pressed
		}
	}
	return "(no key)"
}

// unshadowed are actions without the keys that mean something else by configuration, and with those that mean them.
func (m *Model) unshadowed(list []screen.Action) []screen.Action {
	own := m.options.Keys
	if len(own) == 0 {
		return list
	}
	shadowed := func(key string) bool { // as pressed, or as shown: F1, ctrl-d
		return own[key] != "" || len(key) > 1 && own[strings.ReplaceAll(strings.ToLower(key), "ctrl-", "ctrl+")] != ""
	}
	list = slices.Clone(list)
	for i := range list {
		a := &list[i]
		var mine []string
		for _, pressed := range slices.Sorted(maps.Keys(own)) {
			if slices.Contains(a.Keys, meant(own[pressed])) {
				mine = append(mine, pressed)
			}
		}
		a.Keys = slices.DeleteFunc(slices.Clone(a.Keys), shadowed)
		a.Shown = strings.Join(append(mine, slices.DeleteFunc(strings.Fields(a.Shown), shadowed)...), " ")
	}
	return list
}

// offered are those unshadowed actions that a key is left for: of two that have a key the first is done by it.
func (m *Model) offered(list []screen.Action) []screen.Action {
	taken := make(map[string]bool)
	list = slices.Clone(m.unshadowed(list))
	for i := range list {
		a := &list[i]
		keys := strings.Fields(a.Shown)
		a.Shown = strings.Join(slices.DeleteFunc(keys, func(key string) bool { return taken[key] }), " ")
		for _, key := range a.Keys {
			taken[key] = true
		}
	}
	return slices.DeleteFunc(list, func(a screen.Action) bool { return a.Shown == "" })
}

// ownActions are the keys of one's own, for the help.
func (m *Model) ownActions() []screen.Action {
	var list []screen.Action
	for _, pressed := range slices.Sorted(maps.Keys(m.options.Keys)) {
		list = append(list, screen.Action{Shown: pressed, Help: "as configured: " + m.options.Keys[pressed]})
	}
	return list
}

// viewActions are the saved filters and views of the list of locks, for the palette.
func (m *Model) viewActions() []screen.Action {
	show := func(name, help string, what func(*locks.Screen)) screen.Action {
		return screen.Action{Shown: "/", Hint: strings.ToLower(name), Help: help, Run: screen.Do(func() {
			m.home()
			if s, ok := m.front().(*locks.Screen); ok {
				what(s)
			}
		})}
	}
	var list []screen.Action
	for _, name := range slices.Sorted(maps.Keys(m.options.Filters)) {
		text := m.options.Filters[name]
		list = append(list, show(name, "filter: "+text, func(s *locks.Screen) { s.ShowOnly(text) }))
	}
	for _, name := range slices.Sorted(maps.Keys(m.options.Views)) {
		v := m.options.Views[name]
		list = append(list, show(name, "view: "+v.String(), func(s *locks.Screen) { s.ShowView(v) }))
	}
	return list
}
