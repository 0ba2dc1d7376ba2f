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
	words, folded, prefixes []string // folded are lower-case words that match in any case
	globs                   []glob
	custom                  []recipe.Custom
}

// glob is any other pattern. A key without its ending does not match.
type glob struct{ pattern, ending string }

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
		case !trailing || strings.ContainsAny(word, special):
			m.globs = append(m.globs, glob{p, p[strings.LastIndexAny(p, special)+1:]})
		case leading:
			m.words = append(m.words, word)
		default:
			m.prefixes = append(m.prefixes, word)
		}
	}
	return m
}

// special are the bytes with a meaning in a pattern.
const special = `*?[]\`

// ofAnyCase reads "[lL][oO]" as "lo".
func ofAnyCase(word string) (string, bool) {
	var lower []byte
	for ; len(word) >= 4 && word[0] == '[' && word[1] >= 'a' && word[1] <= 'z' && word[2] == word[1]-'a'+'A' &&
		word[3] == ']'; word = word[4:] {
		lower = append(lower, word[1])
	}
	return string(lower), word == "" && len(lower) > 0
}

// Any reports whether one of the patterns matches.
func (m Matcher) Any(key string) bool {
	lower := key
	if len(m.folded) > 0 {
		lower = strings.ToLower(key)
	}
	return slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(key, w) }) ||
		slices.ContainsFunc(m.folded, func(w string) bool { return strings.Contains(lower, w) }) ||
		slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) ||
		slices.ContainsFunc(m.globs, func(g glob) bool {
			return strings.HasSuffix(key, g.ending) && text.Glob(g.pattern, key)
		}) ||
		slices.ContainsFunc(m.custom, func(c recipe.Custom) bool { return c.Owns(key) })
}
