package redissource

import (
	"slices"
	"strings"

	"lockscope/inspect/recipe"
)

// globEscape makes a pattern that matches one key and nothing else.
var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// matcher is a set of patterns. Those of a word between stars and of a prefix, which most are, are matched faster.
type matcher struct {
	words, prefixes, globs []string
	custom                 []recipe.Custom
}

func newMatcher(patterns []string) matcher {
	var m matcher
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

// any reports whether one of the patterns matches.
func (m matcher) any(key string) bool {
	return slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(key, w) }) ||
		slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) ||
		slices.ContainsFunc(m.globs, func(p string) bool { return glob(p, key) }) ||
		slices.ContainsFunc(m.custom, func(c recipe.Custom) bool { return c.Owns(key) })
}

// glob reports whether a SCAN pattern matches a key, as Redis does (util.c stringmatchlen): * and ? match any bytes, a
// class [a-c^] or [^a] one, a backslash takes the next byte literally. It never backtracks over more than one star.
func glob(pattern, key string) bool {
	p, k := 0, 0
	star, mark := -1, 0
	for k < len(key) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, k
			p++
			continue
		}
		if p < len(pattern) {
			if size, ok := globOne(pattern[p:], key[k]); ok {
				p += size
				k++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, k = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// globOne matches one byte against the first element of a pattern, and returns the length of that element.
func globOne(p string, c byte) (size int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		return globClass(p, c)
	case '\\':
		if len(p) > 1 {
			return 2, p[1] == c
		}
	}
	return 1, p[0] == c
}

func globClass(p string, c byte) (size int, ok bool) {
	i := 1
	not := i < len(p) && p[i] == '^'
	if not {
		i++
	}
	found := false
	for ; i < len(p) && p[i] != ']'; i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			i++
			found = found || p[i] == c
		case i+2 < len(p) && p[i+1] == '-':
			low, high := min(p[i], p[i+2]), max(p[i], p[i+2])
			found = found || low <= c && c <= high
			i += 2
		default:
			found = found || p[i] == c
		}
	}
	if i < len(p) {
		i++ // the bracket that closes the class; without one it ends with the pattern
	}
	return i, found != not
}
