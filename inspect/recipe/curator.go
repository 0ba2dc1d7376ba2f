package recipe

import (
	"net/netip"
	"strings"
)

// curator is Apache Curator: InterProcessMutex, LeaderSelector ("lock-"), InterProcessReadWriteLock ("__READ__",
// "__WRIT__") and LeaderLatch ("latch-"), each name protected by "_c_" and a UUID with dashes
// (ProtectedUtils, LockInternals, StandardLockInternalsDriver). A waiter watches the node right before it; a reader
// watches the first write of the queue, not the nearest.
func curator() Queue {
	return Queue{
		Name:          "curator",
		Certain:       true,
		Parse:         parseCurator,
		Prefix:        func(guid string) string { return curatorProtection + dashed(guid) + "-lock-" },
		Owner:         curatorOwner,
		CarriesGUID:   true,
		readerWatches: firstWrite,
	}
}

const curatorProtection = "_c_"

func parseCurator(child string) (Entry, bool) {
	rest, ok := strings.CutPrefix(child, curatorProtection)
	if !ok || len(rest) < 37 || !isUUID(rest[:36]) || rest[36] != '-' {
		return Entry{}, false
	}
	rest = rest[37:]
	for _, token := range []struct {
		text string
		mode Mode
	}{{"lock-", Exclusive}, {"latch-", Exclusive}, {"__WRIT__", Exclusive}, {"__READ__", Shared}} {
		if number, ok := strings.CutPrefix(rest, token.text); ok {
			seq, ok := parseSequence(number)
			return Entry{Name: child, Sequence: seq, Mode: token.mode}, ok
		}
	}
	return Entry{}, false
}

// dashed writes 32 hex digits as a UUID.
func dashed(guid string) string {
	return guid[:8] + "-" + guid[8:12] + "-" + guid[12:16] + "-" + guid[16:20] + "-" + guid[20:]
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !isHex(s[i:i+1]) {
			return false
		}
	}
	return true
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// curatorOwner: the default data is the client's address as text (CuratorFrameworkFactory.getLocalAddress).
func curatorOwner(data []byte) (host, label string) {
	if _, err := netip.ParseAddr(string(data)); err == nil {
		return string(data), ""
	}
	return "", string(data)
}
