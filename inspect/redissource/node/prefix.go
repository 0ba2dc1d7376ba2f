package node

import (
	"slices"
	"strings"

	"github.com/lockscope/lockscope/internal/each"
)

// Prefixes returns the literal beginnings of the patterns. It returns as few as possible, without
// overlaps, which CLIENT TRACKING refuses. The empty prefix covers every key.
func Prefixes(patterns []string) []string {
	all := each.Of(patterns, literal)
	slices.Sort(all) // a prefix comes before the strings that it covers
	var kept []string
	for _, p := range all {
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

// literal returns the beginning of a pattern up to its first wildcard.
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
