package recording

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// ourWords reads the words that a source of ours writes, such as kinds and states, and refuses those that would steer a
// terminal: they are shown as they are.
var ourWords = json.JoinUnmarshalers(
	word[inspect.Kind](), word[inspect.State](), word[recipe.Confidence](),
	word[inspect.Aspect](), word[inspect.Severity](),
	word[inspect.BackendKind](), word[inspect.BackendState](), word[inspect.Mode](), word[inspect.Topology](),
	word[inspect.ServerState](),
	word[inspect.WriteRefusal](), word[inspect.ServerFault](), word[inspect.Verb](),
)

func word[T ~string]() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, w *T) error {
		text, err := readText(d, func(text string) (string, error) { return text, checkWord(text) })
		*w = T(text)
		return err
	})
}

func checkWord(word string) error {
	if inspect.Escape(word) != word {
		return fmt.Errorf("%w: %s is not a word used in recordings", ErrFormat, inspect.Escape(word))
	}
	return nil
}

// checkNames refuses names of our own (backends, recipes, rules) for the same reason.
func checkNames(u *inspect.Update) (err error) {
	check := func(name string) {
		if err == nil {
			err = checkWord(name)
		}
	}
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
