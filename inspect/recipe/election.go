package recipe

import (
	"slices"
	"strings"
)

// ElectsByPath reports whether a lock's path or key suggests that its contenders are election
// candidates. Curator's LeaderSelector and kazoo's Election write the nodes of a mutex, so
// nothing else shows it. The word is a guess.
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

// LeadsOn reports whether a library's leader keeps leading after its entry is deleted, since its
// client does not check the entry while its session lives. Curator's LeaderLatch and LeaderSelector
// do so (seen with 5.4.0), and Spring's LeaderInitiator uses the latter. kazoo's Election ends with
// its function (election.py, run), and go-zookeeper's Lock does not watch its own node.
// LeaderElectionSupport only watches the node before its own (LeaderElectionSupport.java, process).
// Accumulo's ServiceLock and Hadoop's ActiveStandbyElector watch their own.
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

// wordsOf splits a name into lower-case words: runs of letters and digits, split again before
// capitals.
func wordsOf(name string) (words []string) {
	for _, run := range strings.FieldsFunc(name, func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') }) {
		for _, word := range camelWords(run) {
			words = append(words, strings.ToLower(word))
		}
	}
	return words
}
