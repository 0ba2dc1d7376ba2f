package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/tui/locks"
	"github.com/lockscope/lockscope/tui/screen"
)

// Look is the part of a configuration that customises the screen.
type Look struct {
	// Filters and Views of the list of locks, by name. Columns are those of its table; empty
	// means the usual ones.
	Filters map[string]string
	Views   map[string]locks.View
	Columns []string
}

// CheckLook reports the invalid parts of a look.
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
	return locks.View{Columns: look.Columns}.Check()
}

// offered drops keys that an earlier action has, and actions without any key left.
func offered(list []screen.Action) []screen.Action {
	taken := make(map[string]bool)
	list = slices.Clone(list)
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

// viewActions are the saved filters and views, for the palette.
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
		list = append(list, show(name, "filter: "+text, func(s *locks.Screen) { s.Input().Set(text) }))
	}
	for _, name := range slices.Sorted(maps.Keys(m.options.Views)) {
		v := m.options.Views[name]
		list = append(list, show(name, "view: "+v.String(), func(s *locks.Screen) { s.ShowView(v) }))
	}
	return list
}
