package act

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Scripts of the holder ARGV[1] for the lock's keys KEYS. inIt reports whether it has the lock.
// ownFree releases as its library does, and ownRenew sets the TTL ARGV[2]. Both return 1 if it
// still had the lock.
var (
	inIt = redis.NewScript(hasIt + `for _, key in ipairs(KEYS) do if has(key) then return 1 end end return 0`)

	ownFree = redis.NewScript(hasIt + `local freed = 0
for _, key in ipairs(KEYS) do
  if has(key) then
    freed = 1
    local kind = redis.call('TYPE', key).ok
    if kind == 'string' then redis.call('DEL', key) end
    if kind == 'set' then redis.call('SREM', key, ARGV[1]) end
    if kind == 'zset' then
      redis.call('ZREM', key, ARGV[1], '__write__')
      if string.find(key, ':timeout', 1, true) then redis.call('INCRBY', KEYS[1], 1) end
    end
    if kind == 'hash' then
      redis.call('HDEL', key, ARGV[1])
      if redis.call('HLEN', key) == 1 and redis.call('HEXISTS', key, 'mode') == 1 then redis.call('DEL', key) end
    end
  end
end
return freed`)

	ownRenew = redis.NewScript(hasIt + `local renewed = 0
for _, key in ipairs(KEYS) do if has(key) then renewed = redis.call('PEXPIRE', key, ARGV[2]) end end
return renewed`)
)

const hasIt = `local function has(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then return redis.call('GET', key) == ARGV[1] end
  if kind == 'hash' then return redis.call('HEXISTS', key, ARGV[1]) == 1 end
  if kind == 'zset' then return redis.call('ZSCORE', key, ARGV[1]) ~= false end
  if kind == 'set' then return redis.call('SISMEMBER', key, ARGV[1]) == 1 end
  return false
end
`

// libraryRaces runs actions while a lock in its library's format changes.
type libraryRaces struct {
	*testing.T
	waits
	client   *redis.Client
	releaser *Redis
	pace     racePace
	ours     int
}

// all returns the keys that may name the holder.
func (r *libraryRaces) all() []string { return append([]string{r.key}, r.keys...) }

func (r *libraryRaces) ask(s *redis.Script, args ...any) int {
	n, err := s.Run(r.Context(), r.client, r.all(), args...).Int()
	if err != nil {
		r.Error(err)
	}
	return n
}

// next tries to take the lock as a waiter does.
func (r *libraryRaces) next() int {
	return r.ask(redis.NewScript(r.try), append([]any{r.me, 3600000}, r.args...)...)
}

// race takes the lock for a while, and runs other during the action. It returns false if the lock
// expired before the preview or does not support the action.
func (r *libraryRaces) race(lasts string, ttl time.Duration, other func()) (result Result, ok bool) {
	r.Helper()
	write := strings.ReplaceAll(r.write, "3600000", lasts)
	trial{actions{write: write}, "", r.client, r.releaser}.write(r.T)
	p, err := r.releaser.Preview(r.Context(), Request{ID: inspect.ID{Backend: "redis", Path: r.key}, Owner: inspect.Untrusted(r.holder), TTL: ttl})
	if lasts != "3600000" && (p.Refused == Gone || p.Refused == NotHolder) || p.Refused == Unsupported && ttl > 0 { // some of several keys end first
		return result, false
	}
	if err != nil || p.Refused != "" {
		r.Fatalf("%+v, %v", p, err)
	}
	result, err = r.pace.run(other, func() (Result, error) { return r.releaser.Execute(r.Context(), p, "--yes") })
	if err != nil {
		r.Fatalf("%+v, %v", result, err)
	}
	return result, true
}

// untouched checks that the next client still has the lock, and that no extra permits are free.
func (r *libraryRaces) untouched(what string, result Result) {
	r.Helper()
	if r.ask(inIt, r.me) != 1 || r.try == takePermit && r.client.Get(r.Context(), r.key).Val() != "0" {
		r.Fatalf("%s: the next client lost its lock; %+v", what, result)
	}
}

func (r *libraryRaces) releaseDuringARelease() {
	var freed, taken int
	result, _ := r.race("3600000", 0, func() { freed, taken = r.ask(ownFree, r.holder), r.next() })
	deleted := result.Masters[0].Deleted
	if deleted == (freed == 1) || result.Released != deleted || !deleted && result.Reason != Gone && result.Reason != Changed || taken != 1 {
		r.Fatalf("own release: the holder freed it %d times, the next took it %d times, and we report %+v", freed, taken, result)
	}
	if deleted {
		r.ours++
	}
	r.untouched("own release", result)
}

func (r *libraryRaces) releaseDuringARenewal() {
	var renewed int
	result, _ := r.race("3600000", 0, func() { renewed = r.ask(ownRenew, r.holder, 2*time.Hour.Milliseconds()) })
	if there := r.ask(inIt, r.holder) == 1; result.Released == there || there && (renewed != 1 || result.Reason != Changed && result.Reason != Gone) {
		r.Fatalf("a renewal: renewed %d times, it exists: %v; we report %+v", renewed, there, result)
	}
}

func (r *libraryRaces) releaseDuringItsEnd() {
	var taken int
	result, ok := r.race("3", 0, func() { taken = r.next() })
	if ok && (result.Released != result.Masters[0].Deleted || !result.Released && result.Reason != Gone && result.Reason != Changed) {
		r.Fatalf("its end: %+v", result)
	}
	if ok && taken == 1 {
		r.untouched("its end", result)
	}
}

func (r *libraryRaces) ttlDuringARelease() {
	var freed, taken int
	result, ok := r.race("3600000", 10*time.Minute, func() { freed, taken = r.ask(ownFree, r.holder), r.next() })
	if !ok {
		return
	}
	if left := r.client.PTTL(r.Context(), r.key).Val(); freed != 1 || taken != 1 || left > 0 && left < 30*time.Minute {
		r.Fatalf("a TTL: freed %d times, taken %d times, and the next client's key has %v left; %+v", freed, taken, left, result)
	}
	r.untouched("a TTL", result)
}

// Actions on each library's locks race with the holder's release, renewal and expiry, and with a
// client that takes the lock once it is free. That client keeps the lock, and only one side reports
// the release.
func TestActsOnEveryLibraryInRaces(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	const rueidis = "0123456789abcdefghijklmn"
	rows := append(structuredWaits(), stringWaits()...)
	rows = append(rows, waits{
		library: "rueidislock", write: fmt.Sprintf("SET rueidislock:0:a %s PX 3600000;SET rueidislock:1:a %[1]s PX 3600000;SET rueidislock:2:a %[1]s PX 3600000", rueidis),
		key: "rueidislock:0:a", holder: rueidis, me: "z" + rueidis[1:], try: allFree, keys: []string{"rueidislock:1:a", "rueidislock:2:a"},
	})
	each := *tries
	if each < 1000 { // few by default, since there are thirty libraries
		each = max(each/8, 1)
	}
	for _, w := range rows {
		t.Run(w.library+" "+w.how, func(t *testing.T) {
			hear(t, client, cmp.Or(w.until.channel, "none"))
			r := &libraryRaces{T: t, waits: w, client: client, releaser: releaser}
			for range each {
				r.releaseDuringARelease()
				r.releaseDuringARenewal()
				r.releaseDuringItsEnd()
				r.ttlDuringARelease()
			}
			t.Logf("%d races with the holder's release won", r.ours)
		})
	}
}

// turn makes a waiter in its library's queue the holder. passes releases the lock, takes it for the
// waiter, and reports whether the waiter was still queued.
type turn struct {
	name, write, key, waiter, passes, becomes string
	keys                                      []string
	hears                                     string // the waiter's channel; without a subscription it looks dead
}

// A waiter is removed from a Redis queue while it gets the lock. It either holds the lock and keeps
// it, or was removed before.
func TestRedisWaiterGetsLockInRaces(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	soon := soonText()
	ours := func(r byte) string { return recipe.LockscopeToken([16]byte{r}, "w") }
	queue, alive := recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), recipe.LockscopeKey(recipe.AlivePrefix, "lock:a")
	for _, tt := range []turn{
		{
			name: "Redisson's fair queue", hears: "redisson_lock__channel:{a}:" + ownerB, key: "a", waiter: ownerB, becomes: ownerB, keys: []string{"redisson_lock_queue:{a}", "redisson_lock_timeout:{a}"},
			write: "HSET a " + ownerA + " 1;PEXPIRE a 3600000;RPUSH redisson_lock_queue:{a} " + ownerB + ";ZADD redisson_lock_timeout:{a} " + soon + " " + ownerB,
			passes: `redis.call('DEL', KEYS[1])
if redis.call('LPOP', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('ZREM', KEYS[3], ARGV[1]) redis.call('HSET', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], 3600000) return 1`,
		},
		{
			name: "a writer of madelson's", key: "a.writer", waiter: idB + "_WRITERWAITING", becomes: idB, keys: []string{"a.readers"},
			write: "SADD a.readers " + idA + ";SET a.writer " + idB + "_WRITERWAITING PX 3600000",
			passes: `redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', 3600000) return 1`,
		},
		{
			name: "our own queue", key: "lock:a", waiter: ours(2), becomes: ours(2), keys: []string{queue},
			write: "SET lock:a " + ours(1) + " PX 3600000;ZADD " + queue + " 1 " + ours(2) + ";HSET " + alive + " " + ours(2) + " " + soon + "000",
			passes: `redis.call('DEL', KEYS[1])
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', 3600000) return 1`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hear(t, client, "none", tt.hears)
			won, pace := 0, racePace{}
			for try := range *tries {
				trial{actions{write: tt.write}, "", client, releaser}.write(t)
				p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: tt.key}, Owner: inspect.Untrusted(tt.waiter), Waiter: true})
				passed := 0
				var failed error
				result, err := pace.run(func() {
					passed, failed = redis.NewScript(tt.passes).Run(t.Context(), client, append([]string{tt.key}, tt.keys...), tt.waiter, tt.becomes).Int()
				}, func() (Result, error) { return releaser.Execute(t.Context(), p, "--yes") })
				must.Succeed(t, errors.Join(err, failed))
				holds, err := inIt.Run(t.Context(), client, []string{tt.key}, tt.becomes).Int()
				if err != nil || holds != passed || result.Released == (passed == 1) || !result.Released && result.Reason != Changed && result.Reason != Gone {
					t.Fatalf("try %d: it got the lock %d times, it holds it: %d; we report %+v, %v", try, passed, holds, result, err)
				}
				won += 1 - passed
			}
			t.Logf("%d races, %d won", *tries, won)
		})
	}
}

// A release on several masters, or of a value on only one, races with the holder's release. Another
// client takes the lock on each master once it is free.
func TestActsOnSeveralMastersInRaces(t *testing.T) {
	t.Parallel()
	servers := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	clients, addrs := redisMastersOf(t, servers)
	releaser := onMasters(t, clients, addrs)
	value := strings.Repeat("o", 21) + "g=="
	pace := racePace{}
	for try := range *tries {
		for have := 1; have <= 3; have += 2 {
			key := fmt.Sprintf("lock:%d-%d", try, have)
			for _, c := range clients[:have] {
				c.Set(t.Context(), key, value, time.Hour)
			}
			p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: key}, Owner: inspect.Untrusted(value), Waiter: have == 1})
			var freed [3]int
			var taken [3]bool
			result, err := pace.run(func() {
				for i, c := range clients {
					freed[i], _ = ownRelease.Run(t.Context(), c, []string{key}, value).Int()
					taken[i], _ = c.SetNX(t.Context(), key, nextValue, time.Hour).Result()
				}
			}, func() (Result, error) { return releaser.Execute(t.Context(), p, "--yes") })
			deleted := slices.ContainsFunc(result.Masters, func(m MasterResult) bool { return m.Deleted })
			if err != nil || result.Released && !deleted {
				t.Fatalf("try %d: %+v, %v", try, result, err)
			}
			for i, c := range clients {
				ours := len(result.Masters) > i && result.Masters[i].Deleted
				if has := c.Get(t.Context(), key).Val(); !taken[i] || has != nextValue || ours && freed[i] == 1 || i < have && !ours && freed[i] == 0 {
					t.Fatalf("try %d, master %d has %q: the holder freed it %d times, the next took it: %v; %+v", try, i, has, freed[i], taken[i], result)
				}
				c.Del(t.Context(), key)
			}
		}
	}
}
