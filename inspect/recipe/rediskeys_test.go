package recipe

import (
	"slices"
	"strconv"
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
		{"redbeat::schedule", true, nil},
		{"redbeat::statics", true, nil},
		{"redbeat::lock", false, nil},
		{"redbeat:unlock-accounts", false, nil},
	} {
		_, locks, helper := LockOf(tt.key)
		if helper != tt.helper || !slices.Equal(locks, tt.locks) {
			t.Errorf("%s: %v %q, want %v %q", tt.key, helper, locks, tt.helper, tt.locks)
		}
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
		if got := DecodeToken(tt.key, tt.value); got != tt.want {
			t.Errorf("%s = %s: %+v, want %+v", tt.key, tt.value, got, tt.want)
		}
	}
}

// ioredis-lock writes version 1 UUIDs with dashes.
func TestTimeBasedTokenIsDecoded(t *testing.T) {
	got := DecodeToken("lock:a", uuidV1)
	if got.Recipe != "token" || got.Host != "3c:52:00:aa:bb:cc" || got.Since.Year() != 2025 {
		t.Errorf("%+v", got)
	}
}

func hash(fields ...string) Value {
	v := Value{Type: TypeHash}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Items = append(v.Items, Item{Name: fields[i], Text: fields[i+1]})
	}
	return v
}

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
			if r, ok := DecodeKeys(Keys{Key: key, Main: v, Named: true, Now: time.Now()}); ok {
				t.Errorf("%s under %s is recognised as %+v", name, key, r)
			}
		}
	}
}

func TestRedissonOwners(t *testing.T) {
	k := Keys{Key: "a", Main: hash(uuid+":57:0c4f-ab", "1"), Now: time.Now()}
	r, ok := DecodeKeys(k)
	if !ok || len(r.Claims) != 1 || r.Claims[0].Label != "0c4f-ab" || r.Claims[0].Thread != "57" || r.Claims[0].LibraryID != uuid {
		t.Errorf("a transaction: %+v", r)
	}
}

// Keys that were not requested, or were denied, do not prove that a reader is dead.
func TestReaderDeathNeedsAllKeysRead(t *testing.T) {
	now := time.Now()
	base := Keys{Key: "a", Main: hash("mode", "read", uuid+":1", "2"), Now: now}
	hold := func(n string) string { return "{a}:" + uuid + ":1:rwlock_timeout:" + n }
	for _, tt := range []struct {
		name      string
		auxiliary map[string]Value
		dead      bool
	}{
		{"none requested", nil, false},
		{"one of two requested", map[string]Value{hold("1"): {Type: TypeNone}}, false},
		{"one denied", map[string]Value{hold("1"): {Type: TypeNone, Unknown: true}, hold("2"): {Type: TypeNone}}, false},
		{"one exists", map[string]Value{hold("1"): {Type: TypeString, ExpiresAt: now.Add(time.Second)}, hold("2"): {Type: TypeNone}}, false},
		{"none exists", map[string]Value{hold("1"): {Type: TypeNone}, hold("2"): {Type: TypeNone}}, true},
	} {
		base.Auxiliary = tt.auxiliary
		if r, ok := DecodeKeys(base); !ok || len(r.Claims) != 1 || r.Claims[0].Dead != tt.dead {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

// Redisson's subscriptionMode may be SLAVE.
func TestWaiterMaySubscribeOnReplica(t *testing.T) {
	channel := func(owner string, n int, elsewhere bool) (string, Value) {
		return "redisson_lock__channel:{a}:" + owner, Value{Type: TypeChannel, Subscribers: n, Elsewhere: elsewhere}
	}
	for _, tt := range []struct {
		first, second int
		elsewhere     bool
		dead          bool
	}{
		{0, 0, false, true},
		{0, 0, true, false},
		{0, 1, true, true}, // the other waiter subscribes here
	} {
		k := Keys{Key: "a", Main: hash(uuidB+":1", "1"), Now: time.Now(), Auxiliary: map[string]Value{
			"redisson_lock_queue:{a}": {Type: TypeList, Items: []Item{{Name: uuid + ":1"}, {Name: uuid + ":2"}}},
		}}
		name, v := channel(uuid+":1", tt.first, tt.elsewhere)
		k.Auxiliary[name] = v
		name, v = channel(uuid+":2", tt.second, tt.elsewhere)
		k.Auxiliary[name] = v
		if r, ok := DecodeKeys(k); !ok || len(r.Claims) != 3 || r.Claims[1].Dead != tt.dead {
			t.Errorf("%+v: %+v", tt, r)
		}
	}
}

// PUBSUB may be denied.
func TestUnknownSubscribersLeaveWaiterAlive(t *testing.T) {
	own := "redisson_lock__channel:{a}:" + uuid + ":1"
	k := Keys{Key: "a", Main: hash(uuidB+":1", "1"), Now: time.Now(), Auxiliary: map[string]Value{
		"redisson_lock_queue:{a}":    {Type: TypeList, Items: []Item{{Name: uuid + ":1"}, {Name: "\x1b[31mnobody"}}},
		"redisson_lock__channel:{a}": {Type: TypeChannel, Unknown: true},
		own:                          {Type: TypeChannel, Unknown: true},
	}}
	r, ok := DecodeKeys(k)
	if !ok || len(r.Claims) != 2 || r.Claims[1].Dead || !r.Claims[1].Waiting {
		t.Errorf("%+v", r)
	}
	k.Auxiliary[own] = Value{Type: TypeChannel}
	if r, _ := DecodeKeys(k); !r.Claims[1].Dead {
		t.Error("a waiter without a subscriber is not dead")
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
		if r.Recipe == "" || key != "" && r.PartOf == key {
			t.Errorf("%+v", r)
		}
		for _, c := range r.Claims {
			if c.Name != name && c.Name != other {
				t.Errorf("%q was invented: %+v", c.Name, r)
			}
		}
		again, _ := DecodeKeys(k)
		must.True(t, r.Equal(&again), "decoded as", r, "and as", again)
	})
}

// The waiters for x and {x} would share a queue key. Only one of the two is shown as the lock.
func TestOurWaitersBelongToOneLock(t *testing.T) {
	value := LockscopeToken([16]byte{1}, "a")
	queue := Value{Type: TypeZSet, Items: []Item{{Name: LockscopeToken([16]byte{2}, "b"), Score: 1}}}
	key := Value{Type: TypeString, Text: value}
	for _, test := range []struct {
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
		k := Keys{Key: test.key, Main: Value{Type: TypeNone}, Hint: lockscopeName, Auxiliary: map[string]Value{LockscopeKey(QueuePrefix, test.key): queue}}
		switch test.held {
		case "":
		case test.key:
			k.Main = key
		default:
			k.Auxiliary[test.held] = key
			if !slices.ContainsFunc(Queries(k), func(a Query) bool { return a.Key == test.held }) {
				t.Errorf("%+v: the held key is not requested", test)
			}
		}
		if r, ok := DecodeKeys(k); ok != test.listed || ok && (r.Recipe != lockscopeName || len(r.Claims) == 0 || !r.Claims[len(r.Claims)-1].Waiting) {
			t.Errorf("%+v: %+v %v", test, r, ok)
		}
	}
}

// A waiter of a fair mutex that missed two heartbeats stays in the queue until it is passed over.
func TestSilentFairWaiterIsDead(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) float64 { return float64(now.Add(time.Hour - d).UnixMicro()) } // by the server's clock
	waiter := LockscopeToken([16]byte{2}, "b")
	queue, beats := LockscopeKey(QueuePrefix, "x"), LockscopeKey(AlivePrefix, "x")
	for name, tt := range map[string]struct {
		came  time.Duration
		alive Value
		clock bool // the server's clock is unknown
		dead  bool
	}{
		"just queued":             {came: time.Second, alive: Value{Type: TypeNone}},
		"no heartbeat":            {came: time.Minute, alive: Value{Type: TypeNone}, dead: true},
		"a recent heartbeat":      {came: time.Minute, alive: Value{Type: TypeHash, Items: []Item{{Name: waiter, Text: strconv.Itoa(int(ago(time.Second)))}}}},
		"an old heartbeat":        {came: time.Minute, alive: Value{Type: TypeHash, Items: []Item{{Name: waiter, Text: strconv.Itoa(int(ago(3 * time.Second)))}}}, dead: true},
		"heartbeats refused":      {came: time.Minute, alive: Value{Unknown: true}},
		"not all heartbeats read": {came: time.Minute, alive: Value{Type: TypeHash, More: true}},
		"unknown clock":           {came: time.Minute, alive: Value{Type: TypeNone}, clock: true},
	} {
		k := Keys{
			Key: "x", Main: Value{Type: TypeString, Text: LockscopeToken([16]byte{1}, "a")}, Now: now, Offset: time.Hour, ClockUnknown: tt.clock,
			Auxiliary: map[string]Value{queue: {Type: TypeZSet, Items: []Item{{Name: waiter, Score: ago(tt.came)}}}},
		}
		if !slices.ContainsFunc(Queries(k), func(q Query) bool { return q.Key == beats }) {
			t.Errorf("%s: its heartbeats are not requested", name)
		}
		k.Auxiliary[beats] = tt.alive
		r, ok := DecodeKeys(k)
		if !ok || len(r.Claims) != 2 || r.Claims[1].Dead != tt.dead {
			t.Errorf("%s: %+v %v, want dead %v", name, r, ok, tt.dead)
		}
	}
}
