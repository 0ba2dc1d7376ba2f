package recording

import (
	"fmt"
	"reflect"

	"lockscope/inspect"
)

// checkWords refuses an update whose words of our own (names of backends, kinds, states, recipes, rules) would steer a
// terminal: whoever shows them takes them for what a source of ours has written.
func checkWords(u *inspect.Update) (err error) {
	check := func(word string) {
		if err == nil && inspect.Escape(word) != word {
			err = fmt.Errorf("%w: %s is no word of a recording", ErrFormat, inspect.Escape(word))
		}
	}
	walk(reflect.ValueOf(u).Elem(), func(v reflect.Value) {
		if v.Kind() == reflect.String && v.Type() != untrustedType && v.Type() != reflect.TypeFor[string]() {
			check(v.String())
		}
	})
	rules := func(list []inspect.Finding) {
		for i := range list {
			check(list[i].Rule)
		}
	}
	for _, l := range u.Put {
		check(l.ID.Backend)
		check(l.Recipe)
		rules(l.Findings)
	}
	for _, id := range u.Gone {
		check(id.Backend)
	}
	if u.Backend != nil {
		check(u.Backend.Name)
		rules(u.Backend.Findings)
	}
	if u.Watches != nil {
		check(u.Watches.Backend)
	}
	if u.Gap != nil {
		check(u.Gap.Backend)
	}
	return err
}
