package recipe

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const redissonName = "redisson"

// redisson is Redisson. RLock and its kin are hashes of owners (uuid of the client instance, colon,
// thread id) with their re-entrancy. The fair lock has a list of waiters, and a sorted set of the
// times at which their places lapse. The read-write lock has a mode, and a key for each read hold.
// Semaphores are counters.
func redisson() Shape {
	return Shape{
		Name: redissonName, Clients: []string{"redisson"}, LockOf: redissonLockOf, Queries: redissonAsks,
		Decode: redissonDecode,
	}
}

func redissonLockOf(key string) ([]string, bool) {
	if kind, rest, ok := strings.Cut(key, ":"); ok {
		switch kind {
		case "redisson_lock_queue", "redisson_lock_timeout": // RedissonFairLock
			return braced(rest), true
		case "redisson_lock_token", "redisson_unlock_latch", "redisson_bqs":
			// RedissonFencedLock, RedissonBaseLock, RedissonBoundedBlockingQueue: they show neither holders
			// nor waiters.
			return nil, true
		}
	}
	// {name}:uuid:thread:rwlock_timeout:n
	before, n, ok := cutLast(key, ":rwlock_timeout:")
	if !ok || !isNumber(n) {
		return nil, false
	}
	rest, _, ok := cutLast(before, ":")
	if !ok || len(rest) < 38 {
		return nil, false
	}
	name, owner := rest[:len(rest)-37], before[len(rest)-36:]
	if _, ok := redissonOwner(owner); !ok || rest[len(rest)-37] != ':' {
		return nil, false
	}
	return braced(name), true
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func isNumber(s string) bool { return s != "" && len(s) <= 19 && strings.Trim(s, decimals) == "" }

// RedissonKey names a helper key or channel of a lock: prefix:{name}, or prefix:name if the name
// already has braces (RedissonObject.prefixName).
func RedissonKey(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// RedissonSuffix names a helper key of a lock: {name}:suffix (RedissonObject.suffixName).
func RedissonSuffix(name, suffix string) string {
	if strings.Contains(name, "{") {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// Channels on which Redisson wakes the waiters of a lock, a read-write lock or a semaphore.
const (
	redissonLockChannel = "redisson_lock__channel"
	redissonRWChannel   = "redisson_rwlock"
	redissonSemaphore   = "redisson_sc"
)

// redissonOwner reads uuid:thread, uuid:thread:write or uuid:thread:transaction.
func redissonOwner(field string) (Claim, bool) {
	if len(field) < 38 || len(field) > 160 || !isUUID(field[:36]) || field[36] != ':' {
		return Claim{}, false
	}
	thread, tail, more := strings.Cut(field[37:], ":")
	if !isNumber(thread) || more && tail != "write" && (tail == "" || strings.Trim(tail, hexDigits+"-") != "") {
		return Claim{}, false
	}
	c := Claim{Name: field, LibraryID: field[:36], Thread: thread, Count: 1}
	if tail != "write" {
		c.Label = tail // a transaction's id
	}
	return c, true
}

// redissonHash reads the fields of a lock's hash; false if one is not an owner.
func redissonHash(v Value) (claims []Claim, mode string, ok bool) {
	if v.Type != TypeHash {
		return nil, "", false
	}
	for _, f := range v.Items {
		if f.Name == "mode" && (f.Text == "read" || f.Text == "write") {
			mode = f.Text
			continue
		}
		c, isOwner := redissonOwner(f.Name)
		n, err := strconv.Atoi(f.Text)
		if !isOwner || err != nil || n < 0 {
			return nil, "", false
		}
		c.Count = max(1, n)
		claims = append(claims, c)
	}
	return claims, mode, len(claims) > 0
}

// maxReadHolds limits the read-hold keys that are requested.
const maxReadHolds = 256

func redissonAsks(k Keys) []Query {
	claims, mode, isHash := redissonHash(k.Main)
	switch {
	case isHash && mode != "":
		queries := []Query{{RedissonKey(redissonRWChannel, k.Key), TypeChannel, Waiters}}
		for _, c := range claims {
			for n := 1; mode == "read" && n <= c.Count && len(queries) <= maxReadHolds; n++ {
				queries = append(queries, Query{redissonReadHold(k.Key, c.Name, n), TypeString, Holders})
			}
		}
		return queries
	case isHash, k.Main.Type == TypeNone && k.may(redissonName) && !isBraced(k.Key):
		queue := RedissonKey("redisson_lock_queue", k.Key)
		queries := []Query{
			{queue, TypeList, Waiters},
			{RedissonKey("redisson_lock_timeout", k.Key), TypeZSet, Waiters},
			{RedissonKey(redissonLockChannel, k.Key), TypeChannel, Waiters},
		}
		if k.Main.Type == TypeNone {
			queries = append(queries, Query{"{" + k.Key + "}", TypeHash, Holders})
		}
		for _, item := range k.Auxiliary[queue].Items {
			queries = append(queries, Query{redissonOwnChannel(k.Key, item.Name), TypeChannel, Waiters})
		}
		return queries
	case redissonCounter(k.Main):
		return []Query{
			{RedissonSuffix(k.Key, "timeout"), TypeZSet, Holders},
			{RedissonKey(redissonSemaphore, k.Key), TypeChannel, Waiters},
		}
	}
	return nil
}

func redissonReadHold(key, owner string, n int) string {
	return RedissonSuffix(key, fmt.Sprintf("%s:rwlock_timeout:%d", owner, n))
}

// redissonOwnChannel returns the channel that wakes a waiter of a fair lock when its turn comes.
func redissonOwnChannel(key, owner string) string {
	return RedissonKey(redissonLockChannel, key) + ":" + owner
}

// WakesOne reports whether a channel wakes a single waiter for a lock. The waiter is dead if the
// channel has no subscribers.
func WakesOne(key, channel string) bool {
	return strings.HasPrefix(channel, redissonOwnChannel(key, ""))
}

// redissonCounter reports whether a string may be the permits of a semaphore: a number without an expiry, as far
// as is known.
func redissonCounter(v Value) bool {
	return v.Type == TypeString && v.ExpiresAt.IsZero() && len(v.Text) <= 10 && isNumber(v.Text)
}

func redissonDecode(k Keys) (Record, bool) {
	claims, mode, isHash := redissonHash(k.Main)
	r := Record{Recipe: redissonName, Confidence: redissonSure(k, claims), Kind: "mutex"}
	switch {
	case isHash && mode != "":
		r.Kind = "rw"
		redissonReadWrite(k, &r, claims, mode)
	case isHash:
		for _, c := range claims {
			c.ExpiresAt, c.NoExpiry = k.Main.ExpiresAt, k.Main.NoExpiry
			r.Claims = append(r.Claims, c)
		}
		redissonWaiters(k, &r)
	case k.Main.Type == TypeNone && k.may(redissonName):
		// A lock that is named {x} has the same helper keys as x. Only the hash tells them apart.
		// Without one, x is more likely.
		if _, _, other := redissonHash(k.Auxiliary["{"+k.Key+"}"]); other || isBraced(k.Key) {
			return Record{}, false
		}
		redissonWaiters(k, &r)
		return r, len(r.Claims) > 0
	case redissonCounter(k.Main):
		return redissonCounted(k)
	case k.Main.Type == TypeZSet:
		return redissonPermits(k.Key, k.Main)
	default:
		return Record{}, false
	}
	return r, true
}

// redissonSure grades a lock's hash. Hand-written re-entrant locks modelled on Redisson have the
// same fields. It is certain only if there are keys or channels that only Redisson adds: a queue,
// the keys of read holds, subscribers of its channels. Redisson's hashes always expire, and its ids
// are random UUIDs; a foreign hash may count anything.
func redissonSure(k Keys, claims []Claim) Confidence {
	for name, v := range k.Auxiliary {
		if strings.HasPrefix(name, "redisson_") && (v.Subscribers > 0 || v.Type == TypeList || v.Type == TypeZSet) ||
			strings.Contains(name, ":rwlock_timeout:") && v.Type == TypeString {
			return Certain
		}
	}
	if k.Main.NoExpiry || !slices.ContainsFunc(claims, func(c Claim) bool { return isRandomUUID(c.LibraryID) }) {
		return Possible
	}
	return Likely
}

// redissonReadWrite checks each reader by the keys of its holds in read mode: one renewing reader
// keeps the hash alive, including fields of dead readers.
func redissonReadWrite(k Keys, r *Record, claims []Claim, mode string) {
	for _, c := range claims {
		if !strings.HasSuffix(c.Name, ":write") {
			c.Mode = Shared
		}
		c.ExpiresAt, c.NoExpiry = k.Main.ExpiresAt, k.Main.NoExpiry
		if mode == "read" && c.Mode == Shared {
			redissonReader(k, &c)
		}
		r.Claims = append(r.Claims, c)
	}
	r.WaitersAtLeast = k.Auxiliary[RedissonKey(redissonRWChannel, k.Key)].Subscribers
}

func redissonReader(k Keys, c *Claim) {
	var last time.Time
	asked, found, unseen := 0, 0, false
	for n := 1; n <= c.Count; n++ {
		hold, ok := k.Auxiliary[redissonReadHold(k.Key, c.Name, n)]
		if !ok {
			break
		}
		asked++
		unseen = unseen || hold.Unknown
		if hold.Type == TypeString {
			found++
		}
		if hold.ExpiresAt.After(last) {
			last = hold.ExpiresAt
		}
	}
	if !last.IsZero() {
		c.ExpiresAt, c.NoExpiry = last, false
	}
	c.Dead = asked > 0 && asked == c.Count && found == 0 && !unseen
}

// redissonWaiters reads a fair lock's queue and its subscribers.
func redissonWaiters(k Keys, r *Record) {
	lapses := map[string]float64{}
	for _, t := range k.Auxiliary[RedissonKey("redisson_lock_timeout", k.Key)].Items {
		lapses[t.Name] = t.Score
	}
	queue := k.Auxiliary[RedissonKey("redisson_lock_queue", k.Key)].Items
	here := slices.ContainsFunc(queue, func(item Item) bool { // a subscriber on this server is known
		return k.Auxiliary[redissonOwnChannel(k.Key, item.Name)].Subscribers > 0
	})
	for _, item := range queue {
		c, ok := redissonOwner(item.Name)
		if !ok {
			continue
		}
		c.Waiting = true
		if at, ok := lapses[c.Name]; ok {
			c.ExpiresAt = k.local(at)
			c.Dead = !k.ClockUnknown && !c.ExpiresAt.After(k.Now)
		}
		own, ok := k.Auxiliary[redissonOwnChannel(k.Key, c.Name)]
		if ok && !own.Unknown && own.Subscribers == 0 && (here || !own.Elsewhere) {
			c.Dead = true
		}
		r.Claims = append(r.Claims, c)
	}
	r.WaitersAtLeast = k.Auxiliary[RedissonKey(redissonLockChannel, k.Key)].Subscribers
}

// redissonCounted reads a semaphore's counter. A plain counter shows neither holders nor limit, and
// looks like any other number. Only its waiters, its permits or its name gives it away.
func redissonCounted(k Keys) (Record, bool) {
	available, err := strconv.Atoi(k.Main.Text)
	if err != nil {
		return Record{}, false
	}
	timeouts := k.Auxiliary[RedissonSuffix(k.Key, "timeout")]
	r := Record{Recipe: redissonName, Confidence: Likely, Kind: "semaphore", Opaque: true}
	r.WaitersAtLeast = k.Auxiliary[RedissonKey(redissonSemaphore, k.Key)].Subscribers
	if permits, ok := redissonPermitItems(timeouts); ok {
		if slices.ContainsFunc(permits, func(c Claim) bool { return !isText(c.Name) }) {
			r.Confidence = Certain // random bytes are not text
		}
		for _, p := range permits {
			if p.NoExpiry = p.ExpiresAt.IsZero(); p.NoExpiry || p.ExpiresAt.Add(-k.Offset).After(k.Now) {
				if !p.NoExpiry {
					p.ExpiresAt = p.ExpiresAt.Add(-k.Offset)
				}
				r.Claims = append(r.Claims, p)
			}
		}
		if !timeouts.More {
			r.Limit = available + len(timeouts.Items)
		}
		return r, true
	}
	if r.WaitersAtLeast == 0 {
		r.Confidence = Possible
	}
	return r, r.WaitersAtLeast > 0 || strings.Contains(strings.ToLower(k.Key), "semaphore")
}

// redissonNever is the score of a permit that does not expire.
const redissonNever = 922337203685477

// redissonPermitItems reads the members of a permit-expirable semaphore. Each is 16
// bytes, which Java shows as hex. Expiries are by the server's clock. Zero means that the entry never expires.
func redissonPermitItems(v Value) ([]Claim, bool) {
	if v.Type != TypeZSet || len(v.Items) == 0 {
		return nil, false
	}
	var claims []Claim
	for _, m := range v.Items {
		if len(m.Name) != 16 || m.Score < 1e12 {
			return nil, false
		}
		c := Claim{Name: m.Name, Label: hex.EncodeToString([]byte(m.Name))}
		if m.Score < redissonNever {
			c.ExpiresAt = time.UnixMilli(int64(m.Score)).UTC()
		}
		claims = append(claims, c)
	}
	return claims, true
}

// isText reports whether s is ASCII that can be printed.
func isText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// redissonPermits handles a permit set that was found before its semaphore.
func redissonPermits(key string, v Value) (Record, bool) {
	rest, ok := strings.CutSuffix(key, ":timeout")
	if _, permits := redissonPermitItems(v); !ok || !permits || !strings.Contains(rest, "{") {
		return Record{}, false
	}
	return Record{Recipe: redissonName, PartOf: braced(rest)[0]}, true
}
