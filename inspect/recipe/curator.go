package recipe

import (
	"net/netip"
	"strings"
)

// curator is Apache Curator: InterProcessMutex, LeaderSelector ("lock-"), InterProcessReadWriteLock
// ("__READ__", "__WRIT__"), LeaderLatch ("latch-") and the permits of InterProcessSemaphoreV2
// ("lease-"). Each name is protected by "_c_" and a UUID with dashes (ProtectedUtils,
// LockInternals, StandardLockInternalsDriver). A waiter watches the node right before it; a reader
// watches the first write of the queue, not the nearest.
func curator() Queue {
	return Queue{
		Name:          "curator",
		Certain:       true,
		Parse:         parseCurator,
		Prefix:        func(guid string) string { return curatorProtection + dashed(guid) + "-lock-" },
		ReadPrefix:    func(guid string) string { return curatorProtection + dashed(guid) + "-__READ__" },
		WritePrefix:   func(guid string) string { return curatorProtection + dashed(guid) + "-__WRIT__" },
		Owner:         curatorOwner,
		CarriesGUID:   true,
		readerWatches: firstWrite,
	}
}

const curatorProtection = "_c_"

// CuratorRevoke is the data that asks the holder of a revocable lock to release it
// (LockInternals.REVOKE_MESSAGE).
const CuratorRevoke = "__REVOKE__"

// CuratorListens reports whether data shows a contender whose program made its lock revocable. Such
// data is empty (attemptLock writes that instead of any other data), or the request itself.
func CuratorListens(data []byte) bool { return len(data) == 0 || string(data) == CuratorRevoke }

// CuratorPermit returns the name prefix of an InterProcessSemaphoreV2's permit; guid is 32
// lower-case hex digits.
func CuratorPermit(guid string) string { return curatorProtection + dashed(guid) + "-lease-" }

func parseCurator(child string) (Entry, bool) {
	rest, ok := strings.CutPrefix(child, curatorProtection)
	if !ok || len(rest) < 37 || !isUUID(rest[:36]) || rest[36] != '-' {
		return Entry{}, false
	}
	rest = rest[37:]
	for _, token := range curatorTokens {
		if number, ok := strings.CutPrefix(rest, token.text); ok {
			seq, ok := parseSequence(number)
			return Entry{Name: child, Sequence: seq, Mode: token.mode, Role: token.role, Confidence: Certain}, ok
		}
	}
	return Entry{}, false
}

// curatorTokens are the parts of a name between the protection and the number.
var curatorTokens = [...]struct {
	text string
	mode Mode
	role Role
}{
	{"lock-", Exclusive, Plain},
	{"latch-", Exclusive, Candidate},
	{"lease-", Exclusive, Lease},
	{"__WRIT__", Exclusive, ReadWrite},
	{"__READ__", Shared, ReadWrite},
}

// dashed writes 32 hex digits as a UUID.
func dashed(guid string) string {
	return guid[:8] + "-" + guid[8:12] + "-" + guid[12:16] + "-" + guid[16:20] + "-" + guid[20:]
}

func isUUID(s string) bool {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		if (s[i] == '-') != (form[i] == '-') {
			return false
		}
	}
	return strings.Trim(s, hexDigits+"-") == ""
}

const (
	decimals  = "0123456789"
	hexDigits = decimals + "abcdef"
)

func isHex(s string, digits int) bool { return len(s) == digits && strings.Trim(s, hexDigits) == "" }

// curatorOwner reads the default data, the client's address as text
// (CuratorFrameworkFactory.getLocalAddress). A LeaderLatch writes only its participant's id.
func curatorOwner(e Entry, data []byte) (host, label string) {
	if _, err := netip.ParseAddr(string(data)); err == nil && e.Role != Candidate {
		return string(data), ""
	}
	return "", string(data)
}
