package describe

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

// The words, the JSON's schema and the command line's documentation have the same states.
func TestStatesMatchTheContract(t *testing.T) {
	text := must.Have(os.ReadFile("../../docs/snapshot.schema.json"))(t)
	var schema struct {
		Defs struct {
			Lock struct {
				Properties struct {
					State struct{ Enum []inspect.State }
				}
			}
		} `json:"$defs"`
	}
	must.Succeed(t, json.Unmarshal(text, &schema))
	want, got := schema.Defs.Lock.Properties.State.Enum, States()
	slices.Sort(want)
	slices.Sort(got)
	must.Same(t, got, want, "words on … the schema has")
	page := must.Have(os.ReadFile("../../docs/words.md"))(t)
	for _, s := range got {
		must.Contain(t, string(page), "- **"+string(s)+"** (", "docs/words.md", s)
	}
}

// Each text about the holder of a possible lock says that it may not be a lock.
func TestTextsMarkDoubtfulLocks(t *testing.T) {
	l := inspect.Lock{Confidence: recipe.Possible, Holders: []inspect.Contender{{Name: "42", State: inspect.Holding}}}
	v := View{Snapshot: inspect.NewSnapshot(time.Now(), nil, nil), Now: time.Now()}
	for _, state := range States() {
		l.State = state
		says := state == inspect.StateHeld || state == inspect.StateContended
		must.Equal(t, State(&l), string(state)+map[bool]string{true: "?"}[says])
		for _, text := range []string{v.Verdict(&l), v.Standing(&l)} {
			must.Equal(t, strings.HasSuffix(text, " (may not be a lock)"), says, state, text)
			must.True(t, strings.Count(text, "may not be a lock") <= 1, state, text)
		}
	}
}
