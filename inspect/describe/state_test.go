package describe

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"lockscope/inspect"
)

// The words, the JSON's schema and the command line's documentation have the same states.
func TestStatesAreThoseOfTheContract(t *testing.T) {
	text, err := os.ReadFile("../../docs/snapshot.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Lock struct {
				Properties struct {
					State struct{ Enum []inspect.State }
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	want, got := schema.Defs.Lock.Properties.State.Enum, States()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("words on %v, the schema has %v", got, want)
	}
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range got {
		if !strings.Contains(string(page), "`"+string(s)+"`") {
			t.Errorf("docs/cli.md does not say what %s is", s)
		}
	}
}
