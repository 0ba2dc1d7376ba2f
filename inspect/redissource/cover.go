package redissource

import (
	"slices"
	"strings"

	"lockscope/internal/text"
)

// coverLength, in bytes in a row, of one pattern in the place of several: more let the server send less, and cost it
// more.
const coverLength = 3

// cover is one pattern that matches whatever one of several does, and as little else as is simple, since SCAN takes one
// and every pass over the keys costs the server the same; empty where only that of every key would. It looks for a few
// bytes in a row: of *lock* and *mutex* it makes *[lm][ou][ct]*.
func cover(patterns []string) string {
	if len(patterns) == 1 {
		return patterns[0]
	}
	if starts := prefixes(patterns); len(starts) > 0 && starts[0] != "" { // sorted
		words := make([][]string, len(starts))
		n := len(slices.MinFunc(starts, func(a, b string) int { return len(a) - len(b) }))
		for i, s := range starts {
			words[i] = []string{s[:n]}
		}
		return classes(words, n) + "*"
	}
	words := make([][]string, len(patterns))
	n := coverLength
	for i, p := range patterns {
		words[i] = runs(p)
		n = min(n, len(slices.MaxFunc(words[i], func(a, b string) int { return len(a) - len(b) })))
	}
	if n < 2 { // too many keys have any one byte
		return ""
	}
	for i := range words {
		words[i] = windows(words[i], n)
	}
	slices.SortStableFunc(words, func(a, b []string) int { return len(a) - len(b) }) // those with little choice first
	return "*" + classes(words, n) + "*"
}

// runs are the strings that a key which matches has somewhere; at least one, which may be empty.
func runs(pattern string) []string {
	var all []string
	for {
		run, rest := cutLiteral(pattern)
		all = append(all, run)
		if rest == "" {
			return all
		}
		size := 1
		if rest[0] == '[' {
			size, _ = text.GlobClass(rest, 0)
		}
		pattern = rest[size:]
	}
}

// windows are all strings of n bytes in words.
func windows(words []string, n int) []string {
	var all []string
	for _, w := range words {
		for i := 0; i+n <= len(w); i++ {
			all = append(all, w[i:i+n])
		}
	}
	return all
}

// classes takes one word of n bytes out of each list and makes a pattern that matches them all, of few bytes.
func classes(lists [][]string, n int) string {
	var best byteSets
	for _, first := range lists[0] {
		sets := make(byteSets, n)
		sets.add(first)
		for _, list := range lists[1:] {
			sets.add(slices.MinFunc(list, func(a, b string) int { return sets.price(a) - sets.price(b) }))
		}
		if best == nil || sets.cost() < best.cost() {
			best = sets
		}
	}
	return best.pattern()
}

// byteSets are the bytes that a word may have at each place.
type byteSets []string

func (s byteSets) add(word string) {
	for i := range s {
		if strings.IndexByte(s[i], word[i]) < 0 {
			s[i] += word[i : i+1]
		}
	}
}

// price of a word: what the sets cost more with it.
func (s byteSets) price(word string) int {
	with := slices.Clone(s)
	with.add(word)
	return with.cost() - s.cost()
}

// cost of comparing: every byte of a key is held against the first set, and fewer and fewer against the others.
func (s byteSets) cost() int {
	total := 0
	for i, set := range s {
		total += len(set) * (len(s) - i)
	}
	return total
}

func (s byteSets) pattern() string {
	var b strings.Builder
	for _, set := range s {
		if len(set) > 1 {
			b.WriteByte('[')
		}
		for i := range len(set) {
			if !isAlphanumeric(set[i]) {
				b.WriteByte('\\')
			}
			b.WriteByte(set[i])
		}
		if len(set) > 1 {
			b.WriteByte(']')
		}
	}
	return b.String()
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
