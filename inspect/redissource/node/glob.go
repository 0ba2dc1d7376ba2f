package node

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
)

// GlobEscape makes a pattern that matches one key and nothing else.
var GlobEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// Matcher is a set of patterns. Those of a word between stars and of a prefix, which most are, are matched faster.
type Matcher struct {
	words, prefixes, globs []string
	custom                 []recipe.Custom
}

// NewMatcher matches the keys that one of the patterns does, and those that a custom recipe owns.
func NewMatcher(patterns []string, custom []recipe.Custom) Matcher {
	m := Matcher{custom: custom}
	for _, p := range patterns {
		inner, trailing := strings.CutSuffix(p, "*")
		word, leading := strings.CutPrefix(inner, "*")
		switch {
		case !trailing || strings.ContainsAny(word, `*?[\`):
			m.globs = append(m.globs, p)
		case leading:
			m.words = append(m.words, word)
		default:
			m.prefixes = append(m.prefixes, word)
		}
	}
	return m
}

// Any reports whether one of the patterns matches.
func (m Matcher) Any(key string) bool {
	return slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(key, w) }) ||
		slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) ||
		slices.ContainsFunc(m.globs, func(p string) bool { return text.Glob(p, key) }) ||
		slices.ContainsFunc(m.custom, func(c recipe.Custom) bool { return c.Owns(key) })
}
