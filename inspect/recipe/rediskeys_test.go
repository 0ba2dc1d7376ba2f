package recipe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

const uuidB = "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d"

func TestHelperKeysMakeTheirLocksKnown(t *testing.T) {
	for _, tt := range []struct {
		key    string
		helper bool
		locks  []string
	}{
		{"lock:a", false, nil},
		{"redisson_lock_queue:{orders}", true, []string{"orders", "{orders}"}},
		{"redisson_lock_timeout:{orders}", true, []string{"orders", "{orders}"}},
		{"redisson_lock_queue:a{b}c", true, []string{"a{b}c"}},
		{"redisson_lock_token:{orders}", true, nil},
		{"redisson_unlock_latch:{orders}:" + guid, true, nil},
		{"redisson_bqs:{orders}", true, nil},
		{"{orders}:" + uuid + ":57:rwlock_timeout:1", true, []string{"orders", "{orders}"}},
		{"a{b}:" + uuid + ":57:rwlock_timeout:12", true, []string{"a{b}"}},
		{"{orders}:rwlock_timeout:1", false, nil},
		{"rwlock_timeout:1", false, nil},
		{"rueidislock:0:a:b", false, nil},
		{"rueidislock:2:a:b", true, []string{"rueidislock:0:a:b"}},
		{"rueidislock:3:a", false, nil},
		{"rueidislock:2:", false, nil},
		{"lock-signal:a", true, []string{"lock:a"}},
		{FenceKey("a"), true, nil},
		{"redisson_lock_queue:", true, nil},
		{"uniquejobs:" + guid, true, []string{"uniquejobs:" + guid + ":LOCKED"}},
		{"uniquejobs:" + guid + ":RUN:INFO", true, []string{"uniquejobs:" + guid + ":RUN:LOCKED"}},
		{"uniquejobs:" + guid + ":LOCKED", false, nil},
		{"uniquejobs:digests", true, nil},
		{"uniquejobs:" + guid + ":OTHER", false, nil},
		{"semaphore:a:EXISTS", true, nil},
		{"a:QUEUED", false, nil},
		{"redbeat::schedule", true, nil},
		{"redbeat::statics", true, nil},
		{"redbeat::lock", false, nil},
		{"redbeat:unlock-accounts", false, nil},
	} {
		_, locks, helper := LockOf(tt.key)
		must.True(t, helper == tt.helper && slices.Equal(locks, tt.locks), tt.key, helper, locks, "want", tt.helper, tt.locks)
	}
}

func TestEveryRecipesKeysAreScanned(t *testing.T) {
	patterns := RedisPatterns()
	for _, want := range []string{"*[lL][oO][cC][kK]*", "*[mM][uU][tT][eE][xX]*", "*laravel-queue-overlap:*", "*uniquejobs:*"} {
		must.True(t, slices.Contains(patterns, want), want, "is not in", patterns)
	}
}

// uuid1 is a token of redis-py.
const (
	uuid1  = "5f0c1d4ec6f511f0a1b23c5200aabbcc"
	uuidV1 = "5f0c1d4e-c6f5-11f0-a1b2-3c5200aabbcc"
)

func redisPyToken(library string, sure Confidence) Token {
	t := Token{Recipe: library, Confidence: sure}
	t.setUUID1(uuid1)
	return t
}

func TestDecodeStringsOfOtherLibraries(t *testing.T) {
	for _, tt := range []struct {
		key, value string
		want       Token
	}{
		{"job-lock:default:a", "ADDED:2026-11-21T09:00:00.5Z@host:1:" + uuid, Token{Recipe: "shedlock", Confidence: Certain, Host: "host:1", Since: time.Date(2026, 11, 21, 9, 0, 0, 5e8, time.UTC)}},
		{"other:a", "ADDED:2026-11-21T09:00:00Z@old", Token{Recipe: "shedlock", Confidence: Possible, Host: "old", Since: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}},
		{"lock:a", "ADDED:yesterday@host:" + uuid, Token{Recipe: "token", Confidence: Possible}},
		{"lock:a", "WEB_01_4711_" + guid, Token{Recipe: "madelson", Confidence: Likely, Host: "WEB_01", PID: "4711"}},
		{"page:a", "WEB_01_4711_5d41402abc4b2a76b9719d911017c592", Token{Recipe: "token", Confidence: Possible}}, // a digest and not a GUID
		{"lock:a", "_7_" + guid, Token{Recipe: "token", Confidence: Possible}},
		{"lock:a", "WEB__" + guid, Token{Recipe: "token", Confidence: Possible}},
		{"lock:a", "WEB_x_" + guid, Token{Recipe: "token", Confidence: Possible}},
		{"bull:mail:7:lock", uuid + ":12", Token{Recipe: "bullmq", Confidence: Certain, LibraryID: uuid}},
		{"bull:mail:7:lock", uuid, Token{Recipe: "bullmq", Confidence: Possible, LibraryID: uuid}},
		{"emails:mail:7:lock", uuid + ":12", Token{Recipe: "bullmq", Confidence: Likely, LibraryID: uuid}},
		{"stock:lock", uuid + ":12", Token{Recipe: "token", Confidence: Possible}}, // hand-made, with a thread number
		{"lock||app||orders", "worker-3", Token{Recipe: "dapr", Confidence: Likely, Label: "worker-3"}},
		{"lock||orders", "worker-3", Token{Recipe: "dapr", Confidence: Likely, Label: "worker-3"}},
		{"lock|||app||orders", "worker-3", Token{Recipe: "token", Confidence: Possible}},
		{"lock||app||orders||7", "worker-3", Token{Recipe: "token", Confidence: Possible}},
		{"lock||", "worker-3", Token{Recipe: "token", Confidence: Possible}},
		{"rq:scheduler-lock:default", "4711", Token{Recipe: "rq", Confidence: Certain, PID: "4711"}},
		{"rq:scheduler-lock:default", "4711::" + guid + guid, Token{Recipe: "rq", Confidence: Certain, PID: "4711", LibraryID: guid + guid}},
		{"rq:scheduler-lock:default", "4711:4712:" + guid + guid, Token{Recipe: "rq", Confidence: Certain, PID: "4712", LibraryID: guid + guid}},
		{"rq:scheduler-lock:default", "block", Token{Recipe: "token", Confidence: Possible}},
		{"jobs:scheduler-lock:default", "4711", Token{Recipe: "token", Confidence: Possible}},
		{"rq:scheduler-lock:default", guid, Token{Recipe: "rq", Confidence: Certain, LibraryID: guid}},
		{"redbeat::lock", uuid1, redisPyToken("redbeat", Certain)},
		{"redbeat::lock", guid, Token{Recipe: "node-redlock", Confidence: Possible}}, // a custom lock class
		{"prod-redbeat::lock", uuid1, redisPyToken("redbeat", Likely)},
		{"Redbeat:eu:lock", uuid1, redisPyToken("redbeat", Likely)},
		{"myapp::lock", uuid1, redisPyToken("redbeat", Possible)},
		{"myapp:lock", uuid1, redisPyToken("redis-py", Likely)},
		{"redbeat::locks", uuid1, redisPyToken("redis-py", Likely)},
		{"request:a", uuid1, redisPyToken("redis-py", Possible)},
		{"qo_tasks.mail_to-7", uuid1, redisPyToken("redis-py", Likely)},
		{"lock:a", uuidV1, redisPyToken("token", Possible)}, // ioredis-lock writes version 1 UUIDs with dashes
		{"registry:a", uuid, Token{Recipe: "spring-integration", Confidence: Possible, LibraryID: uuid}},
		{"redlock:a", uuid, Token{Recipe: "redlock.net", Confidence: Likely}},
		{"redlock:a", uuidV1, redisPyToken("token", Possible)}, // neither library writes version 1 UUIDs
		{"a:redlock:a", uuid, Token{Recipe: "spring-integration", Confidence: Possible, LibraryID: uuid}},
		{"mutex:a", uuid, Token{Recipe: "redis-semaphore", Confidence: Likely, LibraryID: uuid}},
		{"mutex:a", uuid + "-batch-7", Token{Recipe: "redis-semaphore", Confidence: Likely, LibraryID: uuid + "-batch-7", Label: "batch-7"}},
		{"mutex:a", uuid + "-", Token{Recipe: "token", Confidence: Possible}},
		{"mutex:a", "worker-7", Token{Recipe: "token", Confidence: Possible}},
		{"mutex:a", uuidV1, redisPyToken("token", Possible)},
		{"lock", uuid, Token{Recipe: "token", Confidence: Possible}},
		{"lock:a", "YWFhYWFhYWFhYWFhYWFhYWFh", Token{Recipe: "python-redis-lock", Confidence: Likely}},
		{"other:a", "YWFhYWFhYWFhYWFhYWFhYQFh", Token{Recipe: "redislock", Confidence: Possible, Label: "Fh"}},
		{"myapp-cache-a", "abcdefghijklmnop", Token{Recipe: "laravel", Confidence: Likely}},
		{"lock:a", "abcdefghijklmnop", Token{Recipe: "go-zero", Confidence: Possible}},
		{"lock:a", `s:16:"abcdefghijk1mnop";`, Token{Recipe: "laravel", Confidence: Possible}},
		{"lock:a", strings.Repeat("YWFh", 10) + "YWE=", Token{Recipe: "symfony", Confidence: Likely}},
	} {
		must.Equal(t, DecodeToken(tt.key, tt.value), tt.want, tt.key, "=", tt.value)
	}
}

// hash is a hash of pairs of a field and its value.
func hash(fields ...string) Value {
	v := Value{Type: TypeHash}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Items = append(v.Items, Item{Name: fields[i], Text: fields[i+1]})
	}
	return v
}

// zset is a sorted set whose members have the same score.
func zset(score float64, members ...string) Value {
	v := Value{Type: TypeZSet}
	for _, m := range members {
		v.Items = append(v.Items, Item{Name: m, Score: score})
	}
	return v
}

// Many keys with "lock" in their name hold something else.
func TestOtherStructuresAreNotLocks(t *testing.T) {
	for name, v := range map[string]Value{
		"a user":                 hash("name", "x", "lock", "1"),
		"one owner, one other":   hash(uuid+":1", "1", "x", "1"),
		"an invalid count":       hash(uuid+":1", "one"),
		"a negative count":       hash(uuid+":1", "-1"),
		"only a mode":            hash("mode", "read"),
		"an unknown mode":        hash("mode", "dark", uuid+":1", "1"),
		"no thread":              hash(uuid+":", "1"),
		"an upper-case uuid":     hash(strings.ToUpper(uuid)+":1", "1"),
		"scores":                 zset(12, "ada", "bob"),
		"tokens with ranks":      zset(12, strings.Repeat("YWFh", 10)+"YWE="),
		"only the write marker":  zset(1.9e12, SymfonyWrite),
		"times of other members": zset(1.9e12, "ada"),
		"a set":                  {Type: TypeSet, Items: []Item{{Name: "ada"}}},
		"a list":                 {Type: TypeList, Items: []Item{{Name: uuid + ":1"}}},
		"a string":               {Type: TypeString, Text: "x"},
		"a number with a TTL":    {Type: TypeString, Text: "7", ExpiresAt: time.Now().Add(time.Hour)},
		"nothing":                {Type: TypeNone},
	} {
		for _, key := range []string{"lock:a", "lock:a.writer", "lock:a.readers", "{lock:a}:timeout"} {
			r, ok := DecodeKeys(Keys{Key: key, Main: v, Named: true, Now: time.Now()})
			must.True(t, !ok, name, "under", key, "is recognised as", r)
		}
	}
}

func FuzzLockOf(f *testing.F) {
	for _, key := range []string{"redisson_lock_queue:{a}", "{a}:" + uuid + ":1:rwlock_timeout:1", "rueidislock:1:a", ":rwlock_timeout:1", "redisson_lock_queue:{"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		_, locks, helper := LockOf(key)
		if !helper && len(locks) > 0 || len(locks) > 2 || slices.Contains(locks, "") || slices.Contains(locks, key) {
			t.Errorf("%q: %v %q", key, helper, locks)
		}
	})
}

// FuzzDecodeKeys checks that decoding is bounded and invents nothing.
func FuzzDecodeKeys(f *testing.F) {
	f.Add("lock:a", "hash", uuid+":1", "2", 0.0, uuidB+":3", 1.9e12, int64(1))
	f.Add("a.writer", "string", "web_1_"+guid, "", 0.0, "web_2_"+guid, 0.0, int64(0))
	f.Add("{a}:timeout", "zset", "0123456789abcdef", "", 1.9e12, "x", 1.9e12, int64(0))
	f.Add("rueidislock:0:a", "string", "x", "", 0.0, "x", 0.0, int64(0))
	f.Add("uniquejobs:"+guid+":LOCKED", "hash", "job", "1763715600.5", 0.0, `{"limit":3}`, 0.0, int64(0))
	f.Add("semaphore:a", "zset", uuid+"_0", "", 1.69e12, uuid+"_1", 1.69e12, int64(0))
	f.Add("lock:a", "zset", SymfonyWrite, "", 1.9e12, strings.Repeat("YWFh", 10)+"YWE=", 1.9e12, int64(0))
	f.Fuzz(func(t *testing.T, key, kind, name, text string, score float64, other string, otherScore float64, subscribed int64) {
		v := Value{Type: KeyType(kind), Text: name, NoExpiry: text != ""}
		if v.Type != TypeString && v.Type != TypeNone {
			v.Items = []Item{{Name: name, Text: text, Score: score}, {Name: other, Text: "1", Score: otherScore}}
		}
		k := Keys{Key: key, Main: v, Named: true, Now: time.Unix(1.7e9, 0), Auxiliary: map[string]Value{}}
		for range 3 {
			queries := Queries(k)
			if len(queries) > 1000 {
				t.Fatalf("%d queries", len(queries))
			}
			for _, a := range queries {
				k.Auxiliary[a.Key] = Value{
					Type: a.Type, Text: other, Subscribers: int(subscribed), NoExpiry: true,
					Items: []Item{{Name: other, Score: otherScore}, {Name: name, Score: score}},
				}
			}
		}
		r, ok := DecodeKeys(k)
		if !ok {
			return
		}
		must.True(t, r.Recipe != "" && (key == "" || r.PartOf != key), r)
		for _, c := range r.Claims {
			must.True(t, c.Name == name || c.Name == other, c.Name, "was invented", r)
		}
		again, _ := DecodeKeys(k)
		must.True(t, r.Equal(&again), "decoded as", r, "and as", again)
	})
}

// The waiters for x and {x} would share a queue key. Only one of the two is shown as the lock.
func TestOurWaitersBelongToOneLock(t *testing.T) {
	for _, tt := range []struct {
		key, held string // the decoded key, and the one that a client holds
		listed    bool
	}{
		{"x", "x", true},
		{"{x}", "x", false},
		{"x", "{x}", false},
		{"{x}", "{x}", true},
		{"x", "", true},
		{"{x}", "", false},
		{"a{x}", "", true},
		{"a{x}b", "a{x}b", true},
	} {
		k := Keys{Key: tt.key, Main: Value{Type: TypeNone}, Hint: lockscopeName, Auxiliary: map[string]Value{LockscopeKey(QueuePrefix, tt.key): zset(1, bob)}}
		if tt.held == tt.key {
			k.Main = plain(ann)
		} else if tt.held != "" {
			k.Auxiliary[tt.held] = plain(ann)
			must.True(t, requested(k, tt.held), tt, "the held key is not requested")
		}
		r, ok := DecodeKeys(k)
		must.Equal(t, ok, tt.listed, tt.key, "listed while", tt.held, "is held")
		must.True(t, !ok || r.Recipe == lockscopeName && strings.Contains(page(r), "; waits bob"), tt, r)
	}
}

// requested reports whether a lock's helper key is read.
func requested(k Keys, key string) bool {
	return slices.ContainsFunc(Queries(k), func(q Query) bool { return q.Key == key })
}

// A waiter of a fair mutex that missed two heartbeats stays in the queue until it is passed over.
func TestSilentFairWaiterIsDead(t *testing.T) {
	ago := func(d time.Duration) float64 { return float64(sourcesNow.Add(time.Hour - d).UnixMicro()) } // by the server's clock
	none, queue, beats := Value{Type: TypeNone}, LockscopeKey(QueuePrefix, "x"), LockscopeKey(AlivePrefix, "x")
	for name, tt := range map[string]struct {
		came  time.Duration
		alive Value
		clock bool // the server's clock is unknown
		dead  bool
	}{
		"just queued":             {came: time.Second, alive: none},
		"no heartbeat":            {came: time.Minute, alive: none, dead: true},
		"a recent heartbeat":      {came: time.Minute, alive: hash(bob, fmt.Sprint(int(ago(time.Second))))},
		"an old heartbeat":        {came: time.Minute, alive: hash(bob, fmt.Sprint(int(ago(3*time.Second)))), dead: true},
		"heartbeats refused":      {came: time.Minute, alive: Value{Unknown: true}},
		"not all heartbeats read": {came: time.Minute, alive: Value{Type: TypeHash, More: true}},
		"unknown clock":           {came: time.Minute, alive: none, clock: true},
	} {
		k := locked("x", plain(ann), queue, zset(ago(tt.came), bob))
		k.Offset, k.ClockUnknown = time.Hour, tt.clock
		must.True(t, requested(k, beats), name, "its heartbeats are not requested")
		k.Auxiliary[beats] = tt.alive
		r, ok := DecodeKeys(k)
		if !ok || len(r.Claims) != 2 {
			t.Fatal(name, r, ok)
		}
		must.Equal(t, r.Claims[1].Dead, tt.dead, name, "dead")
	}
}
