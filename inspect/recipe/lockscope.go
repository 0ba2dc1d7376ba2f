package recipe

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	lockscopeName = "lockscope"
	// lockscopePrefix starts the value of every lock that our own package takes.
	lockscopePrefix = "lockscope:"
)

// The prefixes of the keys that our own package keeps next to a lock's key. The lock's name follows
// (see LockscopeKey).
const (
	// FencePrefix is for a string, the newest fencing token. It expires a day after the last
	// acquisition.
	FencePrefix = "lockscope:fence:"
	// WaitPrefix is for a sorted set of the waiters for a plain mutex. The members are values, the
	// scores their arrival in µs of the server's clock, or the negative time at which a waiter was
	// woken.
	WaitPrefix = "lockscope:wait:"
	// TurnPrefix is the same for a Redlock, on the one of its masters that orders the waiters.
	TurnPrefix = "lockscope:turn:"
	// QueuePrefix is for a sorted set of the waiters for a fair mutex. It has their values, by
	// their arrival in µs of the server's clock.
	QueuePrefix = "lockscope:queue:"
	// AlivePrefix is for a hash of when waiters for a fair mutex were last heard from, in µs of the
	// server's clock. A waiter is in it once it has waited for a while.
	AlivePrefix = "lockscope:alive:"
	// ProbePrefix is for a short-lived string that lets a session distinguish the masters of a
	// Redlock.
	ProbePrefix = "lockscope:probe:"
)

// LockscopeKey returns the key with one of these prefixes that belongs to a lock. The two keys fall
// into one slot of a Redis Cluster. The name is put in braces, but a name with a hash tag keeps its
// own. If braces cannot make the name a hash tag, another tag of the same slot goes before it.
func LockscopeKey(prefix, key string) string {
	if hasHashTag(key) {
		return prefix + key
	}
	if !strings.Contains(key, "}") {
		return prefix + "{" + key + "}"
	}
	return prefix + "{" + tagOf(slot(key)) + "}:" + key
}

// FenceKey is the key with the newest fencing token of a lock.
func FenceKey(key string) string { return LockscopeKey(FencePrefix, key) }

// lockscopeLocks are the locks that a key of ours may belong to; rest is the key without its
// prefix.
func lockscopeLocks(rest string) []string {
	tag, name, ok := strings.Cut(rest, "}:")
	if ok && strings.HasPrefix(tag, "{") && strings.Contains(name, "}") && LockscopeKey("", name) == rest {
		return []string{name}
	}
	return braced(rest)
}

// hasHashTag reports whether key has a hash tag. Only the text between the first brace and the next
// closing one decides the key's slot (Redis Cluster specification, "Hash tags").
func hasHashTag(key string) bool {
	_, rest, ok := strings.Cut(key, "{")
	return ok && strings.IndexByte(rest, '}') > 0
}

// ClusterSlot is the slot of a key in a Redis Cluster.
func ClusterSlot(key string) uint16 {
	if hasHashTag(key) {
		_, rest, _ := strings.Cut(key, "{")
		key, _, _ = strings.Cut(rest, "}")
	}
	return slot(key)
}

// slot is the Redis Cluster slot of a string without regard to braces: CRC16 (XMODEM) modulo 16384.
func slot(s string) uint16 {
	var crc uint16
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

// tagOf is the smallest number whose digits fall into a slot.
func tagOf(want uint16) string {
	for n := 0; ; n++ {
		if tag := strconv.Itoa(n); slot(tag) == want {
			return tag
		}
	}
}

// LockscopeChannel is the channel of a lock of our own package. An empty message asks its holders
// and waiters to check the lock, because it was force-released.
func LockscopeChannel(key string) string { return "lockscope:wake:" + key }

// LockscopeSessionChannel is the channel that wakes one session when one of its waiters is next.
func LockscopeSessionChannel(session string) string { return "lockscope:wake:@" + session }

// lockscopeShape reads the waiters of our own package's locks. The keys next to a lock do not
// identify it, except for the queues: they name the lock that they belong to.
func lockscopeShape() Shape {
	return Shape{Name: lockscopeName, LockOf: lockscopeLockOf, Queries: lockscopeQueries, Decode: lockscopeDecode}
}

func lockscopeLockOf(key string) ([]string, bool) {
	for _, prefix := range []string{QueuePrefix, WaitPrefix} {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			return lockscopeLocks(rest), true
		}
	}
	for _, prefix := range []string{FencePrefix, TurnPrefix, AlivePrefix, ProbePrefix} {
		if strings.HasPrefix(key, prefix) {
			return nil, true
		}
	}
	return nil, false
}

func lockscopeQueries(k Keys) []Query {
	_, ours := lockscopeToken(k.Key, k.Main.Text)
	if ours = ours && k.Main.Type == TypeString; !ours && (k.Main.Type != TypeNone || !k.may(lockscopeName)) {
		return nil
	}
	queue := LockscopeKey(QueuePrefix, k.Key)
	queries := []Query{{queue, TypeZSet, Waiters}, {LockscopeKey(WaitPrefix, k.Key), TypeZSet, Waiters}}
	if len(k.Auxiliary[queue].Items) > 0 {
		queries = append(queries, Query{LockscopeKey(AlivePrefix, k.Key), TypeHash, Waiters})
	}
	if twin := lockscopeTwin(k.Key); !ours && twin != "" {
		queries = append(queries, Query{twin, TypeString, Waiters})
	}
	return queries
}

// lockscopeTwin returns the other lock whose waiters would use the same keys, x for {x} and {x} for
// x. It is empty if there is no such lock.
func lockscopeTwin(key string) string {
	if both := braced(key); len(both) == 2 {
		return both[0]
	}
	if both := braced("{" + key + "}"); len(both) == 2 {
		return both[1]
	}
	return ""
}

// lockscopeTwinWaits reports whether the waiters next to an absent key wait for its twin. They do
// if the twin is held or, while neither is held, if the twin is the usual name, the one without
// braces.
func lockscopeTwinWaits(k Keys) bool {
	twin := lockscopeTwin(k.Key)
	if twin == "" {
		return false
	}
	held := k.Auxiliary[twin]
	if _, ours := lockscopeToken(twin, held.Text); ours && held.Type == TypeString {
		return true
	}
	return isBraced(k.Key)
}

// lockscopeDecode reads a lock that has waiters; one without waiters is a plain string.
func lockscopeDecode(k Keys) (Record, bool) {
	r := Record{Recipe: lockscopeName, Confidence: Certain, Kind: "mutex"}
	if t, ok := lockscopeToken(k.Key, k.Main.Text); ok && k.Main.Type == TypeString {
		r.Claims = append(r.Claims, Claim{
			Name: k.Main.Text, Label: t.Label, ExpiresAt: k.Main.ExpiresAt, NoExpiry: k.Main.NoExpiry,
		})
	} else if k.Main.Type != TypeNone || k.Main.Unknown || lockscopeTwinWaits(k) {
		return Record{}, false
	}
	holds := len(r.Claims)
	fair := lockscopeWaiters(k, LockscopeKey(QueuePrefix, k.Key))
	lockscopeSilent(k, fair)
	r.Claims = append(append(r.Claims, fair...), lockscopeWaiters(k, LockscopeKey(WaitPrefix, k.Key))...)
	return r, len(r.Claims) > holds
}

// lockscopeSilence is two of a fair mutex's longest heartbeats. A waiter that was silent for longer
// is skipped at the next handoff, and stays in the queue until then.
const lockscopeSilence = 2 * time.Second

// lockscopeSilent finds the waiters of a fair mutex that were silent for too long, by the server's
// clock.
func lockscopeSilent(k Keys, waiters []Claim) {
	alive := k.Auxiliary[LockscopeKey(AlivePrefix, k.Key)]
	if alive.Unknown || k.ClockUnknown {
		return
	}
	heard := map[string]time.Time{}
	for _, item := range alive.Items {
		if at, err := strconv.ParseFloat(item.Text, 64); err == nil {
			heard[item.Name] = k.local(at / 1000)
		}
	}
	for i := range waiters {
		c := &waiters[i]
		last, known := heard[c.Name]
		if !known && alive.More { // it may be among those that were not read
			continue
		}
		if last.Before(c.Since) {
			last = c.Since
		}
		c.Dead = k.Now.Sub(last) > lockscopeSilence
	}
}

// lockscopeWaiters reads a queue in order of arrival. A woken waiter has lost its arrival time, and
// is next.
func lockscopeWaiters(k Keys, queue string) []Claim {
	var claims []Claim
	for _, item := range k.Auxiliary[queue].Items {
		t, ok := lockscopeToken(k.Key, item.Name)
		if !ok {
			continue
		}
		c := Claim{Name: item.Name, Label: t.Label, Waiting: true}
		if item.Score > 0 {
			c.Since = k.local(item.Score / 1000)
		}
		claims = append(claims, c)
	}
	slices.SortStableFunc(claims, func(a, b Claim) int { return a.Since.Compare(b.Since) })
	for i := range claims {
		if k.ClockUnknown {
			claims[i].Since = time.Time{} // times by an unknown clock mean nothing
		}
	}
	return claims
}

// LockscopeToken builds the value of our own locks: a random part and the owner's label. The first
// nine random bytes are the same for all locks of a session.
func LockscopeToken(random [16]byte, label string) string {
	return lockscopePrefix + encodeRandom(random) + ":" + label
}
