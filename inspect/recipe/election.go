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
	for _, segment := range segments[max(0, len(segments)-2):] {
		words := wordsOf(segment)
		if slices.ContainsFunc(words, electionWord) {
			return true
		}
		// "master-data" and "primary-key" are locks on these.
		if n := len(words); n > 0 && slices.Contains([]string{"master", "primary"}, words[n-1]) {
			return true
		}
	}
	return false
}

// LeadsOn reports whether a leader by a library leads on when its entry is deleted: the client does not look at
// its entry again while its session lives. Curator's LeaderLatch and LeaderSelector were seen to (5.4.0), and
// Spring's LeaderInitiator rests on the latter. kazoo's Election ends with its function (election.py, run), and
// go-zookeeper's Lock has no watch on its own node. LeaderElectionSupport watches the node before its own alone
// (LeaderElectionSupport.java, process). Accumulo's ServiceLock and Hadoop's ActiveStandbyElector watch their own.
func LeadsOn(library string) bool {
	return slices.Contains([]string{"curator", "kazoo", "go-zookeeper", "zookeeper-recipes"}, library)
}

func electionWord(word string) bool {
	switch word {
	case "leader", "leaders", "leadership", "leaderselector", "leaderlatch", "elections", "elect", "candidates":
		return true
	}
	return strings.HasSuffix(word, "election") && !strings.HasSuffix(word, "selection") // BookKeeper: auditorelection
}

// wordsOf cuts a name into its runs of letters and digits, and these where a capital begins a word; in lower case.
func wordsOf(name string) (words []string) {
	for _, run := range strings.FieldsFunc(name, func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') }) {
		for _, word := range camelWords(run) {
			words = append(words, strings.ToLower(word))
		}
	}
	return words
}
