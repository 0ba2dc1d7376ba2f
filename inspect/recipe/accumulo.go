package recipe

import "strings"

// accumulo is Apache Accumulo's service locks, which elect a manager, a collector and the like: ephemeral nodes
// "zlock#", a UUID and "#" (ServiceLock.java), before 2.0 "zlock-". The table locks of its transactions are
// persistent nodes that no session owns, and are not read.
func accumulo() Queue {
	return Queue{
		Name: "accumulo", Parse: parseAccumulo,
		Owner: func(_ Entry, data []byte) (host, label string) { return ownerIn(data) },
	}
}

func parseAccumulo(child string) (Entry, bool) {
	prefix, seq, ok := SplitSequence(child)
	e := Entry{Name: child, Sequence: seq, Role: Candidate, Confidence: Likely}
	if prefix == "zlock-" {
		return e, ok
	}
	e.Confidence = Certain
	id, service := strings.CutPrefix(prefix, "zlock#")
	id, closed := strings.CutSuffix(id, "#")
	return e, ok && service && closed && isUUID(id)
}

// KeepsNodes reports whether a library's contenders are, by design, nodes without a session.
func KeepsNodes(library string) bool {
	return library == "shedlock" || library == "helix" || library == "hive"
}
