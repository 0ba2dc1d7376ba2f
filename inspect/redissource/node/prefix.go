package node

import (
	"slices"
	"strings"
)

// Prefixes returns the literal beginnings of the patterns: as few as possible, none the beginning of another, since
// CLIENT TRACKING refuses those that overlap. The empty prefix is that of every key.
func Prefixes(patterns []string) []string {
	all := make([]string, len(patterns))
	for i, p := range patterns {
		all[i] = literal(p)
	}
	slices.Sort(all) // what a prefix covers follows it
	var kept []string
	for _, p := range all {
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

// literal is the beginning of a pattern up to the first byte that may stand for others.
func literal(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '?', '[':
			return b.String()
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
			b.WriteByte(pattern[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
