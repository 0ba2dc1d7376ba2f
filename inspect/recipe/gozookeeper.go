package recipe

import "strings"

// goZooKeeper is the Lock of github.com/go-zookeeper/zk (and samuel/go-zookeeper): protected like Curator's, but
// the GUID has no dashes, which distinguishes the two (lock.go, conn.go CreateProtectedEphemeralSequential).
func goZooKeeper() Queue {
	return Queue{
		Name:        "go-zookeeper",
		Certain:     true,
		Parse:       parseGoZooKeeper,
		Prefix:      func(guid string) string { return curatorProtection + guid + "-lock-" },
		Owner:       labelOnly,
		CarriesGUID: true,
	}
}

func parseGoZooKeeper(child string) (Entry, bool) {
	rest, ok := strings.CutPrefix(child, curatorProtection)
	if !ok || len(rest) < 32 || !isHex(rest[:32], 32) {
		return Entry{}, false
	}
	number, ok := strings.CutPrefix(rest[32:], "-lock-")
	if !ok {
		return Entry{}, false
	}
	seq, ok := parseSequence(number)
	return Entry{Name: child, Sequence: seq, Confidence: Certain}, ok
}
