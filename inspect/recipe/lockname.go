package recipe

import (
	"slices"
	"strings"
)

// NamesLock reports whether one of a key's words means a lock: "lock:orders", "orderLock:42",
// "SINGLETONLOCK_x", "job-mutex". It is false for "block:7", "clock", "unlock:orders",
// "locked:users". A word ends at a change of case and at any character other than a letter or a
// digit.
func NamesLock(key string) bool {
	lower := strings.ToLower(key)
	if !slices.ContainsFunc(lockWords, func(w string) bool { return strings.Contains(lower, w) }) {
		return false // most keys of a server
	}
	for _, run := range strings.FieldsFunc(key, func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') }) {
		if !slices.Contains(otherLocks, singular(run)) && slices.ContainsFunc(camelWords(run), meansLock) {
			return true
		}
	}
	return false
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// singular returns a lower-case word without trailing digits and plural s.
func singular(word string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimRight(word, decimals)), "s")
}

// camelWords splits "orderLock" and "HTTPLock" before capitals that begin a word.
func camelWords(run string) []string {
	var words []string
	upper := func(i int) bool { return 'A' <= run[i] && run[i] <= 'Z' }
	start := 0
	for i := 1; i < len(run); i++ {
		if upper(i) && (!upper(i-1) || i+1 < len(run) && isLetter(rune(run[i+1])) && !upper(i+1)) {
			words = append(words, run[start:i])
			start = i
		}
	}
	return append(words, run[start:])
}

func meansLock(word string) bool {
	word = singular(word)
	rest, leads := strings.CutPrefix(word, "lock")
	switch {
	case slices.Contains(otherLocks, word):
		return false
	case word == "redsync", slices.Contains(shortLocks, word), strings.HasSuffix(word, "mutex"),
		strings.HasSuffix(word, "semaphore"):
		return true
	case leads:
		return !slices.ContainsFunc(notAfterLock, func(p string) bool { return strings.HasPrefix(rest, p) })
	case strings.HasSuffix(word, "block"), strings.HasSuffix(word, "clock"), strings.HasSuffix(word, "unlock"):
		return false
	}
	return strings.HasSuffix(word, "lock")
}

var (
	lockWords = []string{"lock", "mutex", "semaphore", "redsync"}
	// otherLocks are other words that end in lock.
	otherLocks = []string{
		"flock", "padlock", "deadlock", "livelock", "gridlock", "headlock", "warlock", "wedlock", "hemlock",
		"airlock", "interlock", "numlock", "capslock", "bullock", "pollock", "hillock",
	}
	// shortLocks end like block and clock, but mean a lock.
	shortLocks = []string{"joblock", "dblock", "synclock"}
	// notAfterLock are suffixes that turn lock into another word: locked, locker, locking,
	// lockout.
	notAfterLock = []string{"ed", "er", "ing", "out", "down", "able", "et", "smith", "box", "step"}
)
