package recipe

import (
	"slices"
	"strings"
)

// ElectsByPath reports whether a directory's name makes its contenders candidates of an election. Curator's
// LeaderSelector and kazoo's Election write the nodes of a mutex, so that nothing else does; the word is a guess, as good
// as its writer's choice of it.
func ElectsByPath(path string) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if n := len(segments); n > 2 {
		segments = segments[n-2:]
	}
	for _, segment := range segments {
		words := strings.FieldsFunc(strings.ToLower(segment), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		if slices.ContainsFunc(words, electionWord) {
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
