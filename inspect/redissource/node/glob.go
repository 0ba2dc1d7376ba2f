package node

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
)

// GlobEscape escapes a key so that the pattern matches only that key.
var GlobEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// Matcher is a set of patterns. It is fastest for the common ones: a prefix, or a word between
// stars.
type Matcher struct {
	words, folded, prefixes, globs []string // folded are words in any case
	custom                         []recipe.Custom
}

// NewMatcher returns a Matcher for the patterns and for the keys of the custom recipes.
func NewMatcher(patterns []string, custom []recipe.Custom) Matcher {
	m := Matcher{custom: custom}
	for _, p := range patterns {
		inner, trailing := strings.CutSuffix(p, "*")
		word, leading := strings.CutPrefix(inner, "*")
		any, ignoresCase := ofAnyCase(word)
		switch {
		case trailing && leading && ignoresCase:
			m.folded = append(m.folded, any)
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

// ofAnyCase reads "[lL][oO]" as "lo".
func ofAnyCase(word string) (string, bool) {
	var lower []byte
	for ; len(word) >= 4 && word[0] == '[' && word[1] >= 'a' && word[1] <= 'z' && word[2] == word[1]-'a'+'A' &&
		word[3] == ']'; word = word[4:] {
		lower = append(lower, word[1])
	}
	return string(lower), word == "" && len(lower) > 0
}

// containsFold reports whether s contains a lower-case word, ignoring case.
func containsFold(s, word string) bool {
	for i := 0; i+len(word) <= len(s); i++ {
		if s[i]|0x20 == word[0] && strings.EqualFold(s[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// Any reports whether one of the patterns matches.
func (m Matcher) Any(key string) bool {
	return slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(key, w) }) ||
		slices.ContainsFunc(m.folded, func(w string) bool { return containsFold(key, w) }) ||
		slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) ||
		slices.ContainsFunc(m.globs, func(p string) bool { return text.Glob(p, key) }) ||
		slices.ContainsFunc(m.custom, func(c recipe.Custom) bool { return c.Owns(key) })
}
