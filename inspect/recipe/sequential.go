package recipe

import "strings"

// sequential is any other queue of ephemeral sequential nodes, such as the plain tutorials'
// /locker/foo0000000001. The lowest number holds, and each other waits for the one before it.
// Prefixes count only if they are the usual words for reading and writing. The name alone does not
// prove a lock: a reader must also see that the nodes are ephemeral.
func sequential() Queue {
	return Queue{
		Name:        "sequential",
		Parse:       parseSequential,
		Prefix:      func(string) string { return "lock-" },
		ReadPrefix:  readPrefix,
		WritePrefix: writePrefix,
		Owner:       labelOnly,
	}
}

// readPrefix and writePrefix come from the ZooKeeper recipes page ("Shared Locks").
func readPrefix(string) string  { return "read-" }
func writePrefix(string) string { return "write-" }

// ReadOrWrite reads the mode from a name with "read-" or "write-" right before its number, as on
// the ZooKeeper recipes page ("guid-/read-"). It returns false for any other name.
func ReadOrWrite(child string) (Mode, bool) {
	prefix, _, ok := SplitSequence(child)
	switch {
	case ok && strings.HasSuffix(prefix, readPrefix("")):
		return Shared, true
	case ok && strings.HasSuffix(prefix, writePrefix("")):
		return Exclusive, true
	}
	return Exclusive, false
}

func parseSequential(child string) (Entry, bool) {
	_, seq, ok := SplitSequence(child)
	return Entry{Name: child, Sequence: seq, Confidence: Possible}, ok
}

// readWords maps words for reading to their counterparts for writing. Short words only count if
// both occur.
var readWords = map[string]string{"read": "write", "shared": "exclusive", "r": "w", "sh": "ex"}

// guessModes derives modes from the prefixes of plain sequential nodes, if all use words of one
// usual pair.
func guessModes(entries []Entry) {
	reads, words := "", map[string]bool{}
	for i := range entries {
		if entries[i].Recipe != sequentialName {
			continue
		}
		word := lastWord(entries[i].Name)
		words[word] = true
		if readWords[word] != "" {
			reads = word
		}
	}
	onlyReaders := len(words) == 1 && len(reads) > 2
	if bothModes := len(words) == 2 && words[readWords[reads]]; !onlyReaders && !bothModes {
		return
	}
	for i := range entries {
		if e := &entries[i]; e.Recipe == sequentialName {
			e.Role = ReadWrite
			if lastWord(e.Name) == reads {
				e.Mode = Shared
			}
		}
	}
}

// Word returns the word before a node's number in lower case: "read" of guid-read-0000000001. It is
// empty for other names.
func Word(child string) string { return lastWord(child) }

// lastWord is the last run of letters of a sequential name's prefix, in lower case: "read" of guid-read-0000000001.
func lastWord(name string) string {
	prefix, _, _ := SplitSequence(name)
	prefix = strings.TrimRight(prefix, "-_.:")
	start := strings.LastIndexFunc(prefix, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	return strings.ToLower(prefix[start+1:])
}

const sequentialName = "sequential"

// Generalise treats one recipe's entries as plain sequential ones, except for certain entries. It
// is used when a read entry shows that another library wrote them.
func Generalise(entries []Entry, recipe string) {
	for i := range entries {
		if e := &entries[i]; e.Recipe == recipe && !e.Unnumbered && e.Confidence != Certain {
			*e = Entry{
				Name: e.Name, Sequence: e.Sequence, Recipe: sequentialName, Confidence: Possible,
				Session: e.Session, Czxid: e.Czxid, Index: e.Index,
			}
		}
	}
	guessModes(entries)
	Sort(entries)
}
