package recording

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// ourWords parses the words that our sources write, such as kinds and states. It rejects words
// that could steer a terminal, since they are displayed unescaped.
var ourWords = json.JoinUnmarshalers(
	word[inspect.Kind](), word[inspect.State](), word[recipe.Confidence](),
	word[inspect.Aspect](), word[inspect.Severity](),
	word[inspect.BackendKind](), word[inspect.BackendState](), word[inspect.Mode](), word[inspect.Topology](),
	word[inspect.ServerState](),
	word[inspect.WriteRefusal](), word[inspect.ServerFault](), word[inspect.Verb](),
)

func word[T ~string]() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, w *T) error {
		return readText(d, func(text string) error {
			*w = T(text)
			return checkWord(text)
		})
	})
}

func checkWord(word string) error {
	if inspect.Escape(word) != word {
		return fmt.Errorf("%s is not a word used in recordings", inspect.Escape(word))
	}
	return nil
}

// checkNames rejects unsafe names of backends, recipes and rules for the same reason.
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
		for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
			for i := range list {
				check(list[i].Recipe)
			}
		}
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
