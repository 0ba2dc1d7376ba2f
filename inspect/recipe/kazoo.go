package recipe

import "strings"

// kazoo is kazoo's Lock, WriteLock and Election ("__lock__") and ReadLock ("__rlock__") behind 32 hex digits
// (kazoo/recipe/lock.py). A reader watches the nearest write before it.
func kazoo() Queue {
	return Queue{
		Name:        "kazoo",
		Certain:     true,
		Parse:       parseKazoo,
		Prefix:      func(guid string) string { return guid + "__lock__" },
		Owner:       kazooOwner,
		CarriesGUID: true,
	}
}

func parseKazoo(child string) (Entry, bool) {
	if len(child) < 32 || !isHex(child[:32]) {
		return Entry{}, false
	}
	mode := Exclusive
	number, ok := strings.CutPrefix(child[32:], "__lock__")
	if !ok {
		mode = Shared
		if number, ok = strings.CutPrefix(child[32:], "__rlock__"); !ok {
			return Entry{}, false
		}
	}
	seq, ok := parseSequence(number)
	return Entry{Name: child, Sequence: seq, Mode: mode}, ok
}

// kazooOwner is the identifier. Semaphores write it as Python's repr of bytes, b'NAME'.
func kazooOwner(data []byte) (host, label string) {
	label = string(data)
	if inner, ok := strings.CutPrefix(label, "b'"); ok {
		if inner, ok := strings.CutSuffix(inner, "'"); ok {
			return "", inner
		}
	}
	return "", label
}
