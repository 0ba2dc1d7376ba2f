package tui

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"lockscope/tui/screen"
)

// ownKey matches the spelling of a key that may stand for another.
var ownKey = regexp.MustCompile(`^((ctrl|alt|shift)\+)*([!-~]|f[0-9]{1,2}|space|tab|up|down|left|right|home|end|pgup|pgdown|insert|delete|backspace)$`)

// CheckLook finds what cannot be used of a configuration's filters, by name, and keys, by the key that is pressed.
func CheckLook(filters, keys map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		if problem := screen.NewFilter(filters[name]).Problem(); problem != "" {
			return fmt.Errorf("filters: %s: %s", name, problem)
		}
	}
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

// unshadowed are actions without the keys that mean something else by configuration.
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
		a.Keys = slices.DeleteFunc(slices.Clone(a.Keys), shadowed)
		a.Shown = strings.Join(slices.DeleteFunc(strings.Fields(a.Shown), shadowed), " ")
	}
	return list
}

// offered are those unshadowed actions that a key is left for.
func (m *Model) offered(list []screen.Action) []screen.Action {
	return slices.DeleteFunc(slices.Clone(m.unshadowed(list)), func(a screen.Action) bool { return a.Shown == "" })
}

// ownActions are the keys of one's own, for the help.
func (m *Model) ownActions() []screen.Action {
	var list []screen.Action
	for _, pressed := range slices.Sorted(maps.Keys(m.options.Keys)) {
		list = append(list, screen.Action{Shown: pressed, Help: "as configured: " + m.options.Keys[pressed]})
	}
	return list
}

// filterActions are the saved filters of the list of locks, for the palette.
func (m *Model) filterActions() []screen.Action {
	var list []screen.Action
	for _, name := range slices.Sorted(maps.Keys(m.options.Filters)) {
		text := m.options.Filters[name]
		list = append(list, screen.Action{Shown: "/", Hint: strings.ToLower(name), Help: "filter: " + text, Run: screen.Do(func() {
			m.home()
			if s, ok := m.front().(interface{ ShowOnly(filter string) }); ok {
				s.ShowOnly(text)
			}
		})})
	}
	return list
}
