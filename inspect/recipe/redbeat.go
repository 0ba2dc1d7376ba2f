package recipe

import "strings"

// redbeatPrefix is the usual redbeat_key_prefix.
const redbeatPrefix = "redbeat:"

// redbeatLock is the lock by which one beat of several runs: a redis-py Lock under the key prefix and ":lock", so that
// the usual key has two colons. It lives for five of the longest intervals, 1500 s, and is renewed at every tick
// (redbeat/schedulers.py). Of other prefixes the key alone does not identify the writer.
func redbeatLock(key, value string) (Token, bool) {
	prefix, ok := strings.CutSuffix(key, ":lock")
	if !ok {
		return Token{}, false
	}
	t, ok := redisPy(key, value)
	switch t.Recipe = "redbeat"; {
	case prefix == redbeatPrefix:
		t.Confidence = Certain
	case strings.Contains(strings.ToLower(prefix), "redbeat"):
		t.Confidence = Likely
	case strings.HasSuffix(prefix, ":"):
		t.Confidence = Possible
	default:
		return Token{}, false
	}
	return t, ok
}

// redbeatKeys hides the schedule and the names of the static tasks. The tasks themselves are hashes, which are no locks
// whatever their names are.
func redbeatKeys() Shape {
	return Shape{Name: "redbeat", LockOf: func(key string) ([]string, bool) {
		return nil, key == redbeatPrefix+":schedule" || key == redbeatPrefix+":statics"
	}}
}
