package recipe

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	redisSemaphoreName   = "redis-semaphore"
	redisSemaphorePrefix = "semaphore:"
)

// redisSemaphore is npm's redis-semaphore (5.8.0). A semaphore is a sorted set semaphore:NAME of
// the permit holders. The score is when a permit was taken or last renewed, in milliseconds of that
// client's clock. The same script sets the key's time to live to that client's lock timeout
// (lib/semaphore/acquire/lua.js, refresh/lua.js). A multi-semaphore is one too. There, a client
// that took n permits has the members ID_0 to ID_n-1 with one score
// (lib/multiSemaphore/acquire/lua.js). Its Redlock variants write the same on every master. The
// number of permits and the waiters are recorded nowhere.
func redisSemaphore() Shape {
	return Shape{Name: redisSemaphoreName, Decode: redisSemaphoreDecode}
}

// clockSlack is how far ahead a client's clock may be for its scores to count as past. A queue of
// jobs, whose scores are in the future, is not a semaphore.
const clockSlack = time.Minute

// redisSemaphoreDecode reads the entries. An entry counts until it is as old as the lock timeout of
// the next writer. That timeout is the difference between the newest entry and the key's expiry. It
// can only be too long: if the newest entry was released, the previous one is measured by the key's
// end.
func redisSemaphoreDecode(k Keys) (Record, bool) {
	v := k.Main
	if v.Type != TypeZSet || len(v.Items) == 0 || v.NoExpiry || !strings.HasPrefix(k.Key, redisSemaphorePrefix) {
		return Record{}, false
	}
	scores, newest := make(map[string]float64, len(v.Items)), 0.0
	for _, m := range v.Items {
		if m.Score < 1e12 || m.Score > 1e14 || m.Score != math.Trunc(m.Score) ||
			k.local(m.Score).After(k.Now.Add(clockSlack)) {
			return Record{}, false
		}
		scores[m.Name], newest = m.Score, max(newest, m.Score)
	}
	r := Record{Recipe: redisSemaphoreName, Confidence: Likely, Kind: "semaphore"}
	for _, m := range v.Items {
		c := Claim{Name: m.Name, Label: m.Name}
		if id := takenBy(m.Name, scores); isIdentifier(id) {
			c.LibraryID, c.Label = id, strings.TrimPrefix(id[36:], "-")
		} else {
			c.Label, r.Confidence = id, Possible // the program's own name for itself
		}
		if !v.ExpiresAt.IsZero() {
			c.ExpiresAt = v.ExpiresAt.Add(-time.Duration(newest-m.Score) * time.Millisecond)
			if !c.ExpiresAt.After(k.Now) {
				continue // the next client removes it
			}
		}
		r.Claims = append(r.Claims, c)
	}
	return r, true
}

// takenBy returns the identifier of an entry's client: the entry itself or, in a multi-semaphore,
// the part before the number.
func takenBy(entry string, scores map[string]float64) string {
	id, number, _ := cutLast(entry, "_")
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n >= uint64(len(scores)) {
		return entry
	}
	for i := range n + 1 {
		if scores[id+"_"+strconv.FormatUint(i, 10)] != scores[entry] {
			return entry
		}
	}
	if n == 0 && !isIdentifier(id) && scores[id+"_1"] != scores[entry] {
		return entry // a name that happens to end that way
	}
	return id
}

// isIdentifier reports whether the library makes such identifiers: crypto.randomUUID, then a dash
// and the program's own suffix if it sets one (lib/Lock.js).
func isIdentifier(id string) bool {
	return len(id) >= 36 && isRandomUUID(id[:36]) && (len(id) == 36 || id[36] == '-' && len(id) > 37)
}

// isRandomUUID reports whether a UUID is of version 4.
func isRandomUUID(s string) bool {
	return isUUID(s) && s[14] == '4' && strings.Contains("89ab", s[19:20])
}
