// Package docs has the pages that `lockscope explain` reads.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed words.md
var words string

//go:embed recipes.md
var recipes string

// Word is an item of words.md: a column, a state, an error, or what a release does to a library's lock.
type Word struct{ Name, Where, Means, Do string }

// Recipe is an item of recipes.md: one way of writing a lock. Several libraries may write the same recipe. Alike names
// programs that write nearly the same, and Less the variants that are less certain; both may be empty.
type Recipe struct{ Library, Name, Certainty, Writes, Alike, Less string }

// Columns are the columns of ls and of the screens.
func Columns() []Word { return section(words, "Columns") }

// States are the words for a lock's state.
func States() []Word { return section(words, "States") }

// Errors are the exit codes, the reasons why an action was not done, and the errors of servers and connections.
func Errors() []Word { return section(words, "Errors") }

// Releases has the effects of a release, by recipe.
func Releases() []Word { return section(words, "Releases") }

// Recipes are all known ones, the surest first.
func Recipes() []Recipe {
	var all []Recipe
	for _, certainty := range []string{"Certain", "Likely", "Possible"} {
		for _, w := range section(recipes, certainty) {
			writes, less, _ := strings.Cut(w.Means, " Less certain: ")
			writes, alike, _ := strings.Cut(writes, " Look-alikes: ")
			all = append(all, Recipe{w.Name, w.Where, strings.ToLower(certainty), writes, alike, less})
		}
	}
	return all
}

// section reads the items below a heading, such as "- **NAME** (WHERE): What it means. Do: What to do."
func section(page, heading string) []Word {
	_, text, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var all []Word
	for _, item := range strings.Split("\n"+text, "\n- **")[1:] {
		item, _, _ = strings.Cut(item, "\n\n")
		item = strings.Join(strings.Fields(item), " ")
		name, rest, _ := strings.Cut(item, "** (")
		where, means, _ := strings.Cut(rest, "): ")
		means, do, _ := strings.Cut(means, " Do: ")
		all = append(all, Word{strings.Trim(name, "`"), where, means, do})
	}
	return all
}
