package recipe

import (
	"strconv"
	"strings"
)

// kazoo is kazoo's Lock, WriteLock and Election ("__lock__") and ReadLock ("__rlock__"), all after
// 32 hex digits. The permits of its Semaphore are just 32 hex digits (kazoo/recipe/lock.py). A
// reader watches the nearest write before it.
func kazoo() Queue {
	return Queue{
		Name:        "kazoo",
		Certain:     true,
		Parse:       parseKazoo,
		Prefix:      func(guid string) string { return guid + "__lock__" },
		ReadPrefix:  func(guid string) string { return guid + "__rlock__" },
		WritePrefix: func(guid string) string { return guid + "__lock__" },
		Owner:       kazooOwner,
		CarriesGUID: true,
	}
}

func parseKazoo(child string) (Entry, bool) {
	if len(child) < 32 || !isHex(child[:32], 32) {
		return Entry{}, false
	}
	if IsPermit(child) {
		return Entry{Name: child, Unnumbered: true, Role: Lease, Confidence: Possible}, true
	}
	mode, role := Exclusive, Plain
	number, ok := strings.CutPrefix(child[32:], "__lock__")
	if !ok {
		mode, role = Shared, ReadWrite
		if number, ok = strings.CutPrefix(child[32:], "__rlock__"); !ok {
			return Entry{}, false
		}
	}
	seq, ok := parseSequence(number)
	return Entry{Name: child, Sequence: seq, Mode: mode, Role: role, Confidence: Certain}, ok
}

// LeaseNode is the znode of a kazoo NonBlockingLease, which is not read: its directory may be held.
const LeaseNode = "lease_holder"

// kazooOwner returns the identifier. Semaphores write it into their queue as Python prints bytes,
// b'NAME'.
func kazooOwner(_ Entry, data []byte) (host, label string) {
	if name, ok := pythonBytes(string(data)); ok {
		return "", name
	}
	return "", string(data)
}

// pythonBytes parses the repr of Python bytes.
func pythonBytes(s string) (string, bool) {
	if len(s) < 3 || s[0] != 'b' || s[1] != '\'' && s[1] != '"' || s[len(s)-1] != s[1] {
		return "", false
	}
	inner := s[2 : len(s)-1]
	var text strings.Builder
	for inner != "" {
		c, _, rest, err := strconv.UnquoteChar(inner, 0) // repr writes a subset of Go's escapes, and \'
		switch {
		case strings.HasPrefix(inner, `\'`):
			c, rest = '\'', inner[2:]
		case inner[0] != '\\':
			c, rest = rune(inner[0]), inner[1:]
		case err != nil:
			return "", false
		}
		text.WriteByte(byte(c))
		inner = rest
	}
	return text.String(), true
}

// KazooLimit reads the number of permits from the data of a kazoo Semaphore's directory: decimal text.
func KazooLimit(data []byte) (int, bool) {
	n, err := strconv.ParseUint(string(data), 10, 31)
	return int(n), err == nil && n > 0
}

// IsPermit reports whether a name looks like a permit of a kazoo Semaphore.
func IsPermit(child string) bool { return isHex(child, 32) }
