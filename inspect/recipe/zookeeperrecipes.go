package recipe

import (
	"strconv"
	"strings"
)

// zooKeeperRecipes are the recipes that come with ZooKeeper itself: WriteLock, "x-", the session and "-" (in decimal
// from Java, WriteLock.java and ZNodeName.java; in 16 hex digits from C, zoo_lock.c), and LeaderElectionSupport, "n_"
// alone (LeaderElectionSupport.java).
func zooKeeperRecipes() Queue {
	return Queue{
		Name:  "zookeeper-recipes",
		Parse: parseZooKeeperRecipes,
		Owner: zooKeeperRecipesOwner,
	}
}

func parseZooKeeperRecipes(child string) (Entry, bool) {
	prefix, seq, ok := SplitSequence(child)
	if !ok {
		return Entry{}, false
	}
	if prefix == "n_" {
		return Entry{Name: child, Sequence: seq, Role: Candidate, Confidence: Likely}, true
	}
	session, ok := strings.CutPrefix(prefix, "x-")
	if !ok {
		return Entry{}, false
	}
	session, ok = strings.CutSuffix(session, "-")
	return Entry{Name: child, Sequence: seq, Confidence: Certain}, ok && isSession(session)
}

// isSession reports whether s is a session's id as the recipes write it.
func isSession(s string) bool {
	if len(s) == 16 && isHex(s) {
		return true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == s
}

// zooKeeperRecipesOwner: an election's data is the host's name, a lock's data are two bytes that say nothing.
func zooKeeperRecipesOwner(e Entry, data []byte) (host, label string) {
	switch {
	case e.Role == Candidate:
		return string(data), ""
	case string(data) == "\x12\x34":
		return "", ""
	}
	return "", string(data)
}
