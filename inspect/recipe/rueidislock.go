package recipe

import (
	"slices"
	"strings"
)

const rueidisPrefix = "rueidislock:"

// rueidisValue is the length of the value of a lock: 24 random bytes (lock.go, random).
const rueidisValue = 24

// rueidislock writes one lock under three keys of the same deployment, rueidislock:0:NAME to rueidislock:2:NAME, and
// holds it with two of them (rueidislock/lock.go: KeyMajority 2). The lock is named by the first. Other majorities and
// prefixes are settings of the client that the server does not know.
func rueidislock() Shape {
	return Shape{
		Name: "rueidislock", Clients: []string{"rueidis"}, LockOf: rueidisLockOf, Queries: rueidisAsks,
		Decode: rueidisDecode,
	}
}

func rueidisLockOf(key string) ([]string, bool) {
	name, index, ok := rueidisName(key)
	if !ok || index == 0 {
		return nil, false
	}
	return []string{rueidisPrefix + "0:" + name}, true
}

func rueidisName(key string) (name string, index int, ok bool) {
	rest, ok := strings.CutPrefix(key, rueidisPrefix)
	if !ok || len(rest) < 3 || rest[0] < '0' || rest[0] > '2' || rest[1] != ':' {
		return "", 0, false
	}
	return rest[2:], int(rest[0] - '0'), true
}

// RueidisKeys returns the three keys of the lock that the first key names; false for other keys.
func RueidisKeys(key string) ([]string, bool) {
	name, index, ok := rueidisName(key)
	if !ok || index != 0 {
		return nil, false
	}
	return []string{key, rueidisPrefix + "1:" + name, rueidisPrefix + "2:" + name}, true
}

func rueidisAsks(k Keys) []Query {
	keys, ok := RueidisKeys(k.Key)
	if !ok {
		return nil
	}
	return []Query{{keys[1], TypeString, Holders}, {keys[2], TypeString, Holders}}
}

func rueidisDecode(k Keys) (Record, bool) {
	keys, ok := RueidisKeys(k.Key)
	if !ok {
		return Record{}, false
	}
	r := Record{Recipe: "rueidislock", Confidence: Certain, Kind: "mutex"}
	values := map[string][]Value{}
	unknown, own := 0, false
	for _, v := range []Value{k.Main, k.Auxiliary[keys[1]], k.Auxiliary[keys[2]]} {
		switch {
		case v.Unknown:
			unknown++
		case v.Type == TypeString:
			own = own || len(v.Text) == rueidisValue
			values[v.Text] = append(values[v.Text], v)
		}
	}
	for value, list := range values {
		if len(list) < 2 {
			r.Partial = append(r.Partial, value)
			continue
		}
		slices.SortFunc(list, func(a, b Value) int { return longest(b, a) })
		r.Claims = append(r.Claims, Claim{Name: value, ExpiresAt: list[1].ExpiresAt, NoExpiry: list[1].NoExpiry})
	}
	slices.Sort(r.Partial)
	r.Opaque = len(r.Claims) == 0 && unknown > 0
	return r, own || unknown > 0
}

// longest compares how long two keys live; an unknown expiry counts as the shortest.
func longest(a, b Value) int {
	if a.NoExpiry != b.NoExpiry {
		if a.NoExpiry {
			return 1
		}
		return -1
	}
	return a.ExpiresAt.Compare(b.ExpiresAt)
}
