package recipe

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// KeyType is the type of a Redis key, as TYPE names it.
type KeyType string

// The types that locks use. TypeChannel is not a key but a channel, whose subscribers are
// counted.
const (
	TypeNone    KeyType = "none"
	TypeString  KeyType = "string"
	TypeHash    KeyType = "hash"
	TypeZSet    KeyType = "zset"
	TypeList    KeyType = "list"
	TypeSet     KeyType = "set"
	TypeChannel KeyType = "channel"
)

// Item is a field of a hash (Text is its value), a member of a sorted set (Score), a set or a list.
type Item struct {
	Name, Text string
	Score      float64
}

// Value is the read part of one key on one master.
type Value struct {
	Type KeyType
	// Unknown means that it could not be read.
	Unknown bool
	// Text of a string.
	Text string
	// Items of a collection: a list's and a sorted set's in order, others sorted by name. More
	// means that there are others.
	Items []Item
	More  bool
	// ExpiresAt by our clock; zero if it is absent, never expires (NoExpiry) or could not be read.
	ExpiresAt time.Time
	NoExpiry  bool
	// Subscribers of a channel. Elsewhere means that there may be others on replicas of the server.
	Subscribers int
	Elsewhere   bool
}

// Query names a helper key or channel that must be read to know a lock.
type Query struct {
	Key   string
	Type  KeyType
	Feeds Aspect
}

// Aspect is a part of a lock that is unknown if its helper key or channel cannot be read.
type Aspect string

// The aspects of a lock.
const (
	Holders Aspect = "holders"
	Waiters Aspect = "waiters"
	Limit   Aspect = "limit"
)

// Keys holds one master's values under a lock's key and its helper keys.
type Keys struct {
	Key  string
	Main Value
	// Auxiliary has the values of helper keys and channels, by name.
	Auxiliary map[string]Value
	// Hint is the recipe that the key is known to belong to, from a helper key or an earlier
	// reading; else empty. Named is set if a user requested this very key, so that every possible
	// recipe is worth a try.
	Hint  string
	Named bool
	// Now is by our clock, Offset is the server's clock minus ours.
	Now    time.Time
	Offset time.Duration
	// ClockUnknown means that the server did not give its time, and Offset is 0.
	ClockUnknown bool
}

// local converts a time of the server's clock, in milliseconds since 1970, to our clock.
func (k Keys) local(ms float64) time.Time {
	return time.UnixMilli(int64(ms)).Add(-k.Offset).UTC()
}

// may reports whether a currently empty key may belong to a recipe.
func (k Keys) may(recipe string) bool { return k.Named || k.Hint == recipe }

// Claim is one entry of a lock that Redis keys hold: a holder or, Waiting, a waiter.
type Claim struct {
	// Name identifies it on the server: the field of a hash, the member of a set, the value of a string.
	Name    string
	Mode    Mode
	Waiting bool
	// Count is the re-entrancy; 0 if it is not recorded.
	Count int
	// Decoded from the name; empty is unknown.
	Label, Host, PID, Thread, LibraryID string
	// Since is the time of the acquisition, by the clock of its client; zero if the entry does not have it.
	Since time.Time
	// ExpiresAt is the expiry of its entry, by our clock; zero with NoExpiry or if the entry itself
	// has no time.
	ExpiresAt time.Time
	NoExpiry  bool
	// Dead is set if the key or channel that its library keeps alive for the entry is gone.
	Dead bool
}

// Record is a lock that is more than one plain string, as read from one master.
type Record struct {
	Recipe     string
	Confidence Confidence
	// Kind as in the JSON: mutex, rw, semaphore or unknown.
	Kind string
	// Limit is the number of permits, 0 if it is not known.
	Limit int
	// Claims are the holders, and the waiters in the order of the queue.
	Claims []Claim
	// Partial are values that hold too few of the lock's several keys on this master.
	Partial []string
	// Opaque means that a lock without claims may still be held. Otherwise it is free.
	Opaque bool
	// WaitersAtLeast counts the client instances that are known to wait, without their entries.
	WaitersAtLeast int
	// Auxiliary means that helper keys hold the lock, and the key that names it is absent.
	// Recordings call it Beside.
	Auxiliary bool `json:"Beside"`
	// PartOf is the key of the lock that this key belongs to, if it is not a lock itself.
	PartOf string
	// Doubtful means that another reading must confirm something in it.
	Doubtful bool
}

// Equal compares two records.
func (r *Record) Equal(o *Record) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Recipe == o.Recipe && r.Confidence == o.Confidence && r.Kind == o.Kind && r.Limit == o.Limit &&
		r.Opaque == o.Opaque && r.Auxiliary == o.Auxiliary && r.WaitersAtLeast == o.WaitersAtLeast &&
		r.PartOf == o.PartOf &&
		slices.Equal(r.Claims, o.Claims) && slices.Equal(r.Partial, o.Partial)
}

// Held reports whether a claim holds the lock.
func (r *Record) Held() bool {
	return r != nil && slices.ContainsFunc(r.Claims, func(c Claim) bool { return !c.Waiting })
}

// Shape describes the form of one library's locks that are more than one plain string.
type Shape struct {
	// Name of the recipe.
	Name string
	// Patterns are SCAN patterns of its keys.
	Patterns []string
	// Clients are described at [Clients]. Recipes that also write plain strings have them in the
	// catalogue.
	Clients []string
	// LockOf recognises a helper key by its name alone, and returns the locks that it may belong
	// to; none for noise. It may be nil.
	LockOf func(key string) (locks []string, helper bool)
	// Queries returns further reads for a lock, given the data so far. It is called again with
	// their results.
	Queries func(Keys) []Query
	// Decode returns the lock; false if it is not one of this library.
	Decode func(Keys) (Record, bool)
}

// shapes are the structured-lock recipes, the surest first. Plain-string libraries are in the
// catalogue. They are built once, since every key is matched against all of them.
var shapes = sync.OnceValue(func() []Shape {
	return []Shape{
		redisson(), rueidislock(), sidekiqUniqueJobs(), redisSymfony(), madelsonRedis(), redisSemaphore(),
		lockscopeShape(),
	}
})

// Queries returns what else to read to know a key's lock; nothing for a plain string.
func Queries(k Keys) []Query {
	var queries []Query
	for _, s := range shapes() {
		if s.Queries != nil {
			queries = append(queries, s.Queries(k)...)
		}
	}
	return queries
}

// DecodeKeys returns the lock that a key is part of; false if it is a plain string.
func DecodeKeys(k Keys) (Record, bool) {
	for _, s := range shapes() {
		if s.Decode == nil {
			continue
		}
		if r, ok := s.Decode(k); ok {
			return r, true
		}
	}
	return Record{}, false
}

// LockOf recognises a helper key of some lock by its name. It returns the recipe that writes the
// key, and the locks that it may belong to; none for noise.
func LockOf(key string) (recipe string, locks []string, helper bool) {
	for _, s := range shapes() {
		if s.LockOf == nil {
			continue
		}
		if locks, ok := s.LockOf(key); ok {
			return s.Name, locks, true
		}
	}
	return catalogued(key)
}

// MayBelongTo returns the lock that an unreadable key may be part of, judged by its name. The key
// may hold readers of a madelson read-write lock, or permits of a Redisson semaphore. It returns
// false for other keys.
func MayBelongTo(key string) (lock string, ok bool) {
	if name, ok := strings.CutSuffix(key, madelsonReaders); ok {
		return name + madelsonWriter, true
	}
	if name, ok := strings.CutSuffix(key, ":timeout"); ok && strings.HasPrefix(name, "{") {
		return braced(name)[0], true
	}
	return "", false
}

// RedisPatterns are the SCAN patterns that find locks: the generic words in most locks' names, and
// the patterns of every recipe with its own prefix.
func RedisPatterns() []string {
	patterns := GenericPatterns()
	for _, l := range plainStrings() {
		patterns = append(patterns, l.Scan...)
	}
	for _, s := range shapes() {
		patterns = append(patterns, s.Patterns...)
	}
	return patterns
}

// GenericPatterns returns the leading RedisPatterns, for the words in most locks' names. Other
// names match them too: see [NamesLock].
func GenericPatterns() []string {
	return []string{anyCase("lock"), anyCase("mutex"), anyCase("semaphore")}
}

// anyCase returns a SCAN pattern for keys that contain a word in any case.
func anyCase(word string) string {
	var b strings.Builder
	for _, r := range word {
		b.WriteString("[" + string(r) + strings.ToUpper(string(r)) + "]")
	}
	return "*" + b.String() + "*"
}

// HelperPatterns returns patterns for the helper keys of locks that match patterns. A pattern
// that begins with a star matches its helper keys already.
func HelperPatterns(patterns []string) []string {
	var helpers []string
	for _, p := range patterns {
		if p != "" && !strings.ContainsAny(p[:1], "*?[") {
			helpers = append(helpers, "redisson_lock_queue:{"+p, "redisson_lock_timeout:{"+p, "{"+p)
		}
	}
	return helpers
}

// braced returns the possible lock names in a helper key without its prefix: x and {x} for {x},
// else the text itself.
func braced(rest string) []string {
	inner, ok := strings.CutPrefix(rest, "{")
	if ok && len(inner) > 1 && strings.HasSuffix(inner, "}") && !strings.ContainsAny(inner[:len(inner)-1], "{}") {
		return []string{inner[:len(inner)-1], rest}
	}
	if rest == "" {
		return nil
	}
	return []string{rest}
}

func isBraced(key string) bool { return strings.HasPrefix(key, "{") && strings.HasSuffix(key, "}") }

// RecordsWaiters reports whether a library on Redis records its waiters, or has subscribers that
// are counted. If neither shows any, the lock has no waiters.
func RecordsWaiters(recipe string) bool { return recipe == redissonName || recipe == lockscopeName }
