package recipe

import (
	"strconv"
	"strings"
)

// zooKeeperRecipes are the recipes that come with ZooKeeper itself. WriteLock writes "x-", the
// session and "-". The session is decimal from Java (WriteLock.java, ZNodeName.java), and 16 hex
// digits from C (zoo_lock.c). LeaderElectionSupport writes "n_" alone (LeaderElectionSupport.java).
func zooKeeperRecipes() Queue {
	return Queue{
		Name:  "zookeeper-recipes",
		Parse: parseZooKeeperRecipes,
		Owner: zooKeeperRecipesOwner,
		Proof: func(e Entry, _ []byte, _ bool) Confidence {
			if e.Role == Candidate {
				return e.Confidence
			}
			prefix, _, _ := SplitSequence(e.Name)
			return bySession(e, strings.TrimSuffix(strings.TrimPrefix(prefix, "x-"), "-"))
		},
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
	_, ok2 := sessionOf(session)
	return Entry{Name: child, Sequence: seq, Confidence: Likely}, ok && ok2
}

// sessionOf reads a session's id as the recipes write it: in decimal from Java, in 16 hex digits from C.
func sessionOf(s string) (id int64, ok bool) {
	if isHex(s, 16) {
		n, err := strconv.ParseUint(s, 16, 64)
		return int64(n), err == nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// bySession grades an entry whose name begins with its session. Only these recipes write the id of
// the node's own session there, and none of them creates persistent nodes.
func bySession(e Entry, session string) Confidence {
	if id, _ := sessionOf(session); e.Session == 0 || id != e.Session {
		return ""
	}
	return Certain
}

// zooKeeperRecipesOwner reads the host's name, which only elections write. A lock's data are two
// meaningless bytes.
func zooKeeperRecipesOwner(e Entry, data []byte) (host, label string) {
	switch {
	case e.Role == Candidate:
		return string(data), ""
	case string(data) == "\x12\x34":
		return "", ""
	}
	return "", string(data)
}
