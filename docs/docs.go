// Package docs has the pages that `lockscope explain` reads: what they say is written once.
package docs

import (
	_ "embed"
	"strings"
)

//go:embed words.md
var words string

//go:embed recipes.md
var recipes string

// Word is a row of a table of words.md: a column, an error, or what a release does to a library's lock.
type Word struct{ Name, Where, Means, Do string }

// Recipe is a row of the table of recipes.md: a way of writing a lock. Recipes that several libraries write
// stand in several rows.
type Recipe struct{ Library, Name, Certainty, Writes, Alike string }

// Columns are those of ls and of the screens.
func Columns() []Word { return read(words, "## Columns", word) }

// States are the words for a lock's state.
func States() []Word { return read(words, "## States", word) }

// Errors are the exit codes, the reasons of actions that were not done, and the errors of servers and connections.
func Errors() []Word { return read(words, "## Errors", word) }

// Releases has the effects of a release, by recipe.
func Releases() []Word { return read(words, "## Releases", word) }

// Recipes are all that are known.
func Recipes() []Recipe {
	return read(recipes, "# ", func(c []string) Recipe { return Recipe{c[0], c[1], c[2], c[3], c[4]} })
}

func word(c []string) Word {
	w := Word{Name: strings.Trim(c[0], "`"), Where: c[1], Means: c[2]}
	if len(c) > 3 {
		w.Do = c[3]
	}
	return w
}

// read makes values of the rows of the table behind a heading.
func read[T any](page, heading string, of func(cells []string) T) []T {
	_, section, _ := strings.Cut(page, heading)
	section, _, _ = strings.Cut(section, "\n## ")
	var all []T
	body := false
	for line := range strings.Lines(section) {
		cells, isRow := strings.CutPrefix(strings.TrimSpace(line), "| ")
		switch {
		case strings.HasPrefix(line, "|---"):
			body = true
		case isRow && body:
			all = append(all, of(strings.Split(strings.TrimSuffix(cells, " |"), " | ")))
		}
	}
	return all
}
