package node

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/text"
)

// GlobEscape escapes a key so that the pattern matches only that key.
var GlobEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// Matcher is a set of patterns. To be fast, it tries a pattern only where a word of the pattern
// begins in a key.
type Matcher struct {
	words  [][]glob // by the first byte of the word
	others []glob   // without a word
	custom []recipe.Custom
}

// glob is a pattern whose keys all contain the word, in any case.
type glob struct{ pattern, word string }

// NewMatcher returns a Matcher for the patterns and for the keys of the custom recipes.
func NewMatcher(patterns []string, custom []recipe.Custom) Matcher {
	m := Matcher{words: make([][]glob, 256), custom: custom}
	for _, p := range patterns {
		g := glob{p, wordOf(p)}
		if g.word == "" {
			m.others = append(m.others, g)
		} else {
			m.words[g.word[0]] = append(m.words[g.word[0]], g)
		}
	}
	return m
}

// wordOf returns the longest text that the keys of a pattern contain, in lower case: "lock" of "*:[lL][oO][cC][kK]:*".
// It looks no further than the first other class or escape.
func wordOf(pattern string) string {
	var longest, word string
	for p := pattern; p != "" && p[0] != '\\'; p = p[1:] {
		switch {
		case isLetterOfAnyCase(p):
			word += p[1:2]
			p = p[3:]
		case p[0] == '[':
			return longest
		case p[0] == '*' || p[0] == '?':
			word = ""
		default:
			word += string([]byte{lower(p[0])})
		}
		if len(word) > len(longest) {
			longest = word
		}
	}
	return longest
}

// isLetterOfAnyCase reports whether a pattern begins with a class like [lL].
func isLetterOfAnyCase(p string) bool {
	return len(p) >= 4 && p[0] == '[' && 'a' <= p[1] && p[1] <= 'z' && lower(p[2]) == p[1] && p[3] == ']'
}

// Any reports whether one of the patterns matches.
func (m Matcher) Any(key string) bool {
	matches := func(g glob) bool { return text.Glob(g.pattern, key) }
	for i := range len(key) {
		for _, g := range m.words[lower(key[i])] {
			if rest := key[i:]; len(rest) >= len(g.word) && strings.EqualFold(rest[:len(g.word)], g.word) && matches(g) {
				return true
			}
		}
	}
	return slices.ContainsFunc(m.others, matches) ||
		slices.ContainsFunc(m.custom, func(c recipe.Custom) bool { return c.Owns(key) })
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
