package recipe

import (
	"slices"
	"strings"
)

// ElectsByPath reports whether a lock's name makes its contenders candidates of an election: the path of a
// directory, or a key. Curator's LeaderSelector and kazoo's Election write the nodes of a mutex, so that
// nothing else does; the word is a guess, as good as its writer's choice of it.
func ElectsByPath(path string) bool {
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == ':' })
	if n := len(segments); n > 2 {
		segments = segments[n-2:]
	}
	for _, segment := range segments {
		words := strings.FieldsFunc(strings.ToLower(segment), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		if slices.ContainsFunc(words, electionWord) {
			return true
		}
		// "master-data" and "primary-key" are locks on these.
		if n := len(words); n > 0 && (words[n-1] == "master" || words[n-1] == "primary") {
			return true
		}
	}
	return false
}

func electionWord(word string) bool {
	switch word {
	case "leader", "leaders", "leadership", "leaderelection", "leaderselector", "leaderlatch", "election", "elections", "elect", "candidates":
		return true
	}
	return false
}
