package recipe

import "strings"

const accumuloName = "accumulo"

// accumulo is Apache Accumulo. Its service locks elect a manager, a collector and the like: ephemeral nodes
// "zlock#", a UUID and "#" (ServiceLock.java), before 2.0 "zlock-". Its FATE transactions lock tables by
// persistent nodes, which the next manager takes over: from 4.0 on "flock#", the mode, ":", the transaction and
// "#" (FateLock.java); before, see ReadKept.
func accumulo() Queue {
	return Queue{Name: accumuloName, Parse: parseAccumulo, Owner: accumuloOwner}
}

func parseAccumulo(child string) (Entry, bool) {
	prefix, seq, ok := SplitSequence(child)
	e := Entry{Name: child, Sequence: seq, Role: Candidate, Confidence: Likely}
	if prefix == "zlock-" {
		return e, ok
	}
	e.Confidence = Certain
	if id, service := strings.CutPrefix(prefix, "zlock#"); service {
		id, closed := strings.CutSuffix(id, "#")
		return e, ok && closed && isUUID(id)
	}
	e.Role = ReadWrite
	text, fate := strings.CutPrefix(prefix, "flock#")
	mode, _, known := cutTransaction(strings.TrimSuffix(text, "#"))
	e.Mode = mode
	return e, ok && fate && known && strings.HasSuffix(text, "#")
}

// ReadKept reads a numbered node that no session owns by its data: Accumulo's table locks are nodes "lock-" with
// READ or WRITE, ":" and the transaction (DistributedReadWriteLock.java, ParsedLock). It returns false for a node
// of no known library.
func ReadKept(e Entry, data []byte) (Entry, bool) {
	mode, _, ok := cutTransaction(string(data))
	if prefix, _, _ := SplitSequence(e.Name); !ok || prefix != "lock-" {
		return e, false
	}
	e.Recipe, e.Role, e.Mode, e.Confidence = accumuloName, ReadWrite, mode, Certain
	return e, true
}

// cutTransaction reads a mode and a FATE transaction: hex digits, or from 4.0 on FATE:TYPE:UUID.
func cutTransaction(text string) (mode Mode, id string, ok bool) {
	word, id, _ := strings.Cut(text, ":")
	switch word {
	case "READ":
		mode = Shared
	case "WRITE":
	default:
		return mode, "", false
	}
	fate := strings.HasPrefix(id, "FATE:") && len(id) > 36 && isUUID(id[len(id)-36:])
	return mode, id, fate || isHex(id, 16)
}

// accumuloOwner is the transaction, or what a service says of itself.
func accumuloOwner(e Entry, data []byte) (host, label string) {
	if e.Role == Candidate {
		return ownerIn(data)
	}
	text := string(data)
	if prefix, _, _ := SplitSequence(e.Name); strings.HasPrefix(prefix, "flock#") {
		text = strings.TrimSuffix(strings.TrimPrefix(prefix, "flock#"), "#")
	}
	_, id, _ := cutTransaction(text)
	return "", id
}

// KeepsNodes reports whether a library's contenders are nodes that no session owns, by design: they expire, or
// their owner is a transaction that outlives its client.
func KeepsNodes(library string) bool {
	return library == "shedlock" || library == "helix" || library == "hive" || library == accumuloName
}
