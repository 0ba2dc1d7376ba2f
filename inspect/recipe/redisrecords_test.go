package recipe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// locked is a key with its helper keys, as they are read when a user names the key. It expires in a
// minute.
func locked(key string, main Value, auxiliary ...any) Keys {
	k := Keys{Key: key, Main: main, Named: true, Now: sourcesNow, Auxiliary: map[string]Value{}}
	if k.Main.ExpiresAt.IsZero() && !k.Main.NoExpiry {
		k.Main.ExpiresAt = inAMinute
	}
	for i := 0; i+1 < len(auxiliary); i += 2 {
		k.Auxiliary[auxiliary[i].(string)] = auxiliary[i+1].(Value)
	}
	return k
}

// line writes a claim as "waits NAME x2 shared lib=… 1m0s dead".
func line(c Claim) string {
	words := []string{"holds", c.Name}
	if c.Waiting {
		words[0] = "waits"
	}
	add := func(is bool, format string, value any) {
		if is {
			words = append(words, strings.Replace(format, "%", fmt.Sprint(value), 1))
		}
	}
	add(c.Count > 1, "x%", c.Count)
	add(c.Mode == Shared, "shared", "")
	for _, f := range [][2]string{{"host", c.Host}, {"pid", c.PID}, {"thread", c.Thread}, {"label", c.Label}, {"lib", c.LibraryID}} {
		add(f[1] != "", f[0]+"=%", f[1])
	}
	add(!c.Since.IsZero(), "since -%", sourcesNow.Sub(c.Since))
	add(!c.ExpiresAt.IsZero(), "%", c.ExpiresAt.Sub(sourcesNow))
	add(c.NoExpiry, "forever", "")
	add(c.Dead, "dead", "")
	return strings.Join(words, " ")
}

// page writes a record as its recipe, certainty and kind, and then its claims.
func page(r Record) string {
	if r.PartOf != "" {
		return r.Recipe + " part of " + r.PartOf
	}
	head := fmt.Sprint(r.Recipe, " ", r.Confidence, " ", r.Kind)
	if r.Limit > 0 {
		head += fmt.Sprint(" of ", r.Limit)
	}
	if r.Opaque {
		head += " opaque"
	}
	if r.WaitersAtLeast > 0 {
		head += fmt.Sprint(" waiters ", r.WaitersAtLeast, "+")
	}
	lines := []string{head}
	for _, c := range r.Claims {
		lines = append(lines, line(c))
	}
	if len(r.Partial) > 0 {
		lines = append(lines, fmt.Sprint("partial ", r.Partial))
	}
	short := strings.NewReplacer(
		ann, "ann", bob, "bob", cat, "cat", uuid, "A", uuidB, "B", guid, "G", base32, "T", random, "R", jane, "J", joe, "K", rueidA, "X", rueidB, "Y",
	)
	return short.Replace(strings.Join(lines, "; "))
}

// subscribed is a channel with n subscribers.
func subscribed(n int) Value { return Value{Type: TypeChannel, Subscribers: n} }

// onReplica is a channel to whose subscribers on a replica a reader has no access, as in Redisson's
// subscriptionMode SLAVE.
func onReplica(here int) Value { return Value{Type: TypeChannel, Subscribers: here, Elsewhere: true} }

func list(names ...string) Value {
	v := Value{Type: TypeList}
	for _, n := range names {
		v.Items = append(v.Items, Item{Name: n})
	}
	return v
}

func set(names ...string) Value { v := list(names...); v.Type = TypeSet; return v }

// withoutPTTL is a key whose TTL may not be read.
func withoutPTTL(k Keys) Keys { k.Main.ExpiresAt = time.Time{}; return k }

func until(v Value, left time.Duration) Value { v.ExpiresAt = sourcesNow.Add(left); return v }

func both(a, b Value) Value { a.Items = append(slices.Clone(a.Items), b.Items...); return a }

const (
	past   = float64(1795317377191 - 1)
	rueidA = "0123456789abcdefghijklmn"
	rueidB = "nmlkjihgfedcba9876543210"
	jane   = "\x01\xff0123456789abcd" // permits of Redisson
	joe    = "\x02\xff0123456789abcd"
)

var ann, bob, cat = LockscopeToken([16]byte{1}, "ann"), LockscopeToken([16]byte{2}, "bob"), LockscopeToken([16]byte{3}, "cat")

func TestRecordsOfEachLibrary(t *testing.T) {
	none := Value{Type: TypeNone}
	queue, ends2 := list(owner, uuidB+":2", "nobody"), both(zset(ends, owner), zset(past, uuidB+":2"))
	permits := both(both(zset(ends, random), zset(past, jane)), zset(redissonNever, joe))
	digest := "uniquejobs:" + md5Hex
	const queueKey, channel, expiry = "redisson_lock_queue:{a}", "redisson_lock__channel:{a}", "{a}:" + owner + ":rwlock_timeout:"
	refused := Value{Unknown: true}
	for _, tt := range []struct {
		keys Keys
		want string
	}{
		// Redisson
		{locked("a", hash(owner, "3"), channel, subscribed(2)), "redisson certain mutex waiters 2+; holds A:57 x3 thread=57 lib=A 1m0s"},
		{locked("a", forever(hash(owner, "0"))), "redisson possible mutex; holds A:57 thread=57 lib=A forever"},
		{locked("a", hash(uuidB+":1", "1"), queueKey, queue, "redisson_lock_timeout:{a}", ends2, channel+":"+owner, subscribed(1)), "redisson certain mutex; holds B:1 thread=1 lib=B 1m0s; waits A:57 thread=57 lib=A 1m0s; waits B:2 thread=2 lib=B -1ms dead"},
		{locked("a", none, queueKey, queue, channel+":"+owner, subscribed(1), channel+":"+uuidB+":2", subscribed(0)), "redisson certain mutex; waits A:57 thread=57 lib=A; waits B:2 thread=2 lib=B dead"},
		{locked("a", none, queueKey, queue, "{a}", hash(owner, "1")), "none"},
		{locked("a", none), "none"},
		{locked("a", hash("mode", "write", owner+":write", "1", owner, "2"), "redisson_rwlock:{a}", subscribed(1)), "redisson certain rw waiters 1+; holds A:57:write thread=57 lib=A 1m0s; holds A:57 x2 shared thread=57 lib=A 1m0s"},
		{locked("a", hash("mode", "read", owner, "2"), expiry+"1", until(plain("1"), time.Second), expiry+"2", until(plain("1"), 2*time.Second)), "redisson certain rw; holds A:57 x2 shared thread=57 lib=A 2s"},
		{locked("a", forever(plain("2")), "{a}:timeout", permits), "redisson certain semaphore of 5 opaque; holds R label=00ff3031323334353637383961626364 1m0s; holds K label=02ff3031323334353637383961626364 forever"},
		{locked("a", forever(plain("2")), "{a}:timeout", Value{Type: TypeZSet, Items: zset(ends, random).Items, More: true}), "redisson certain semaphore opaque; holds R label=00ff3031323334353637383961626364 1m0s"},
		{locked("a", forever(plain("2")), "redisson_sc:{a}", subscribed(1)), "redisson likely semaphore opaque waiters 1+"},
		{locked("my-Semaphore", forever(plain("0"))), "redisson possible semaphore opaque"},
		{locked("{a}:timeout", zset(ends, random)), "redisson part of a"},
		{locked("a{b}:timeout", zset(ends, random)), "redisson part of a{b}"},
		{locked("timeout:timeout", zset(ends, random)), "none"},
		{locked("a", hash(owner+":0c4f-ab", "1")), "redisson likely mutex; holds A:57:0c4f-ab thread=57 label=0c4f-ab lib=A 1m0s"}, // a transaction
		{locked("a", hash(uuidB+":1", "1"), queueKey, list(owner, uuid+":2"), channel+":"+owner, subscribed(0), channel+":"+uuid+":2", subscribed(0)), "redisson certain mutex; holds B:1 thread=1 lib=B 1m0s; waits A:57 thread=57 lib=A dead; waits A:2 thread=2 lib=A dead"},
		{locked("a", hash(uuidB+":1", "1"), queueKey, list(owner, uuid+":2"), channel+":"+owner, onReplica(0), channel+":"+uuid+":2", onReplica(0)), "redisson certain mutex; holds B:1 thread=1 lib=B 1m0s; waits A:57 thread=57 lib=A; waits A:2 thread=2 lib=A"},
		{locked("a", hash(uuidB+":1", "1"), queueKey, list(owner, uuid+":2"), channel+":"+owner, onReplica(0), channel+":"+uuid+":2", onReplica(1)), "redisson certain mutex; holds B:1 thread=1 lib=B 1m0s; waits A:57 thread=57 lib=A dead; waits A:2 thread=2 lib=A"},
		{locked("a", hash(uuidB+":1", "1"), queueKey, list(owner, "\x1b[31mnobody"), channel, refused, channel+":"+owner, refused), "redisson certain mutex; holds B:1 thread=1 lib=B 1m0s; waits A:57 thread=57 lib=A"},
		// Keys that were not requested, or were denied, do not prove that a reader is dead.
		{locked("a", hash("mode", "read", owner, "2")), "redisson likely rw; holds A:57 x2 shared thread=57 lib=A 1m0s"},
		{locked("a", hash("mode", "read", owner, "2"), expiry+"1", none), "redisson likely rw; holds A:57 x2 shared thread=57 lib=A 1m0s"},
		{locked("a", hash("mode", "read", owner, "2"), expiry+"1", refused, expiry+"2", none), "redisson likely rw; holds A:57 x2 shared thread=57 lib=A 1m0s"},
		{locked("a", hash("mode", "read", owner, "2"), expiry+"1", until(plain("1"), time.Second), expiry+"2", none), "redisson certain rw; holds A:57 x2 shared thread=57 lib=A 1s"},
		{locked("a", hash("mode", "read", owner, "2"), expiry+"1", none, expiry+"2", none), "redisson likely rw; holds A:57 x2 shared thread=57 lib=A 1m0s dead"},
		// rueidislock
		{locked("rueidislock:0:a", plain(rueidA), "rueidislock:1:a", until(plain(rueidA), 2*time.Minute), "rueidislock:2:a", plain(rueidB)), "rueidislock certain mutex; holds X 1m0s; partial [Y]"},
		{locked("rueidislock:0:a", until(plain(rueidA), time.Second), "rueidislock:1:a", forever(plain(rueidA)), "rueidislock:2:a", until(plain(rueidA), 3*time.Second)), "rueidislock certain mutex; holds X 3s"},
		{locked("rueidislock:0:a", forever(plain(rueidA)), "rueidislock:2:a", forever(plain(rueidA))), "rueidislock certain mutex; holds X forever"},
		{locked("rueidislock:0:a", none, "rueidislock:1:a", refused, "rueidislock:2:a", plain(rueidA)), "rueidislock certain mutex opaque; partial [X]"},
		// Symfony
		{locked("lock:a", zset(ends, base32)), "symfony likely rw; holds T shared 1m0s"},
		{locked("lock:a", until(zset(ends, base32), time.Hour)), "symfony possible rw; holds T shared 1m0s"},
		{locked("a", zset(ends, base32)), "symfony possible rw; holds T shared 1m0s"},
		{locked("a", both(zset(ends, base32), zset(past, SymfonyWrite))), "symfony certain rw; holds T shared 1m0s"},
		{locked("a", both(zset(ends, SymfonyWrite), zset(ends, base32))), "symfony certain mutex; holds T 1m0s"},
		{locked("a", zset(past, base32, SymfonyWrite)), "symfony certain mutex"},
		// madelson
		{locked("a.writer", plain(machine+madelsonWaiting), "a.readers", set(machine)), "madelson certain rw; holds web1_11_G shared host=web1 pid=11; waits web1_11_G_WRITERWAITING host=web1 pid=11 1m0s"},
		{locked("a.writer", none, "a.readers", forever(set(machine))), "madelson likely rw; holds web1_11_G shared host=web1 pid=11 forever"},
		{locked("a.writer", none, "a.readers", set("x")), "none"},
		{locked("a.writer", plain(machine)), "madelson likely rw; holds web1_11_G host=web1 pid=11 1m0s"},
		{locked("a.readers", set(machine)), "madelson part of a.writer"},
		{locked("a", set(machine)), "none"},
		{locked("a", both(zset(ends, machine), zset(past, "web2_12_"+guid))), "madelson likely semaphore; holds web1_11_G host=web1 pid=11 1m0s"},
		// sidekiq-unique-jobs
		{locked(digest+":LOCKED", hash("j1", "1795317376.5", "j2", "1795317377.0"), digest+":INFO", plain(`{"limit":3,"worker":"Mailer"}`)), "sidekiq-unique-jobs certain semaphore of 3; holds j1 label=Mailer since -691ms 1m0s; holds j2 label=Mailer since -191ms 1m0s"},
		{locked(digest+":RUN:LOCKED", forever(hash("j1", `{"worker":"Mailer","limit":2,"time":1795317376.5}`))), "sidekiq-unique-jobs certain semaphore of 2; holds j1 label=Mailer since -691ms forever"},
		{locked(digest+":LOCKED", hash("j1", "1"), digest+":INFO", plain(`{"limit":2000000}`)), "sidekiq-unique-jobs likely mutex; holds j1 1m0s"},
		{locked("app:"+digest+":LOCKED", hash("j1", "1795317376.5")), "sidekiq-unique-jobs likely mutex; holds j1 since -691ms 1m0s"},
		{locked("app:"+digest+":LOCKED", hash("j1", "1")), "none"},
		{locked(digest+":LOCKED", hash("", "1")), "none"},
		{locked("prod_uniq:"+md5Hex+":LOCKED", hash("j1", "1795317376.5")), "sidekiq-unique-jobs likely mutex; holds j1 since -691ms 1m0s"},
		{locked("shop:"+digest+":LOCKED", hash("j1", `{"worker": "Export", "limit": 1}`)), "sidekiq-unique-jobs likely mutex; holds j1 label=Export 1m0s"},
		{locked("shop:cache:"+md5Hex+":RUN:LOCKED", hash("j1", "1")), "none"}, // not a job's time
		{locked("prod_uniq:"+md5Hex+":QUEUED", hash("j1", "1795317376.5")), "none"},
		{locked("prod_uniq:"+md5Hex[:30]+":LOCKED", hash("j1", "1795317376.5")), "none"},
		{locked(md5Hex+":LOCKED", hash("j1", "1795317376.5")), "sidekiq-unique-jobs likely mutex; holds j1 since -691ms 1m0s"},
		{locked("account:7:LOCKED", hash("j1", "1795317376.5")), "none"},
		{locked(digest+":RUN:LOCKED", hash("j1", "1")), "sidekiq-unique-jobs likely mutex; holds j1 1m0s"},
		// redis-semaphore, with the values of a server with version 5.8.0
		{locked("semaphore:gate", until(both(zset(1795317377157, uuid), zset(1795317377159, uuidB)), 59984*time.Millisecond)), "redis-semaphore likely semaphore; holds A lib=A 59.982s; holds B lib=B 59.984s"},
		{locked("semaphore:own-id", until(zset(1795317377160, "worker-7"), 59983*time.Millisecond)), "redis-semaphore possible semaphore; holds worker-7 label=worker-7 59.983s"},
		{locked("semaphore:lanes", until(zset(1795317377161, uuid+"_0", uuid+"_1"), 59984*time.Millisecond)), "redis-semaphore likely semaphore; holds A_0 lib=A 59.984s; holds A_1 lib=A 59.984s"},
		{locked("semaphore:gate", until(zset(1795317377160, uuid+"-batch_7"), time.Second)), "redis-semaphore likely semaphore; holds A-batch_7 label=batch_7 lib=A-batch_7 1s"},
		{locked("semaphore:gate", until(both(zset(1795317376160, uuid), zset(1795317377160, uuidB)), time.Second)), "redis-semaphore likely semaphore; holds B lib=B 1s"},
		{locked("semaphore:gate", until(both(zset(1795317377160, "w_0"), zset(1795317377161, "w_1")), time.Second)), "redis-semaphore possible semaphore; holds w_0 label=w_0 999ms; holds w_1 label=w_1 1s"},
		{locked("semaphore:gate", until(zset(1795317377160, "w_0", "w_1"), time.Second)), "redis-semaphore possible semaphore; holds w_0 label=w 1s; holds w_1 label=w 1s"},
		{withoutPTTL(locked("semaphore:gate", zset(1795317377157, uuid))), "redis-semaphore likely semaphore; holds A lib=A"},
		// Other programs use sorted sets under the same prefix.
		{locked("semaphore:a", forever(zset(1795317377160, uuid))), "none"},
		{locked("jobs:a", zset(1795317377160, uuid)), "none"},
		{locked("semaphore:remote", zset(1795317377, uuid)), "none"}, // seconds, as in Redis in Action
		{locked("semaphore:a", zset(1795317377160.5, uuid)), "none"},
		{locked("semaphore:a", zset(1795317377160+3600000, uuid)), "none"},                // a job due in an hour
		{locked("semaphore:a", both(zset(1795317377160, uuid), zset(12, uuidB))), "none"}, // a ranking
		{locked("semaphore:a", zset(math.Inf(1), uuid)), "none"},
		// lockscope
		{locked("lock:a", plain(ann), LockscopeKey(WaitPrefix, "lock:a"), zset(-1, bob), LockscopeKey(QueuePrefix, "lock:a"), zset(past*1000, cat, "x")), "lockscope certain mutex; holds ann label=ann 1m0s; waits cat label=cat since -1ms; waits bob label=bob"},
		{locked("lock:a", plain(ann)), "none"},
		{locked("lock:a", plain(ann), LockscopeKey(QueuePrefix, "lock:a"), both(zset(past*1000, cat), zset(past*1000-1000, bob))), "lockscope certain mutex; holds ann label=ann 1m0s; waits bob label=bob since -2ms; waits cat label=cat since -1ms"},
		{locked("lock:a", none, LockscopeKey(WaitPrefix, "lock:a"), zset(past*1000, bob)), "lockscope certain mutex; waits bob label=bob since -1ms"},
	} {
		r, ok := DecodeKeys(tt.keys)
		got := "none"
		if ok {
			got = page(r)
		}
		must.Equal(t, got, tt.want, tt.keys.Key)
		must.Equal(t, r.Held(), strings.Contains(tt.want, "holds"), tt.keys.Key, "is held")
	}
}
