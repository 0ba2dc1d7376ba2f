package act

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// holderScript is a script of the holder in testdata: held, free or renew.
func holderScript(t *testing.T, name string) *redis.Script {
	t.Helper()
	has := must.Have(os.ReadFile("testdata/has.lua"))(t)
	return redis.NewScript(string(has) + string(must.Have(os.ReadFile("testdata/"+name+".lua"))(t)))
}

// libraryRaces runs actions while a lock in its library's format changes.
type libraryRaces struct {
	*testing.T
	waits
	client   *redis.Client
	releaser *Redis
	pace     racePace
	ours     int

	held, free, renew *redis.Script
}

// all returns the keys that may name the holder.
func (r *libraryRaces) all() []string { return append([]string{r.Key}, r.Keys...) }

func (r *libraryRaces) ask(s *redis.Script, args ...any) int {
	n, err := s.Run(r.Context(), r.client, r.all(), args...).Int()
	if err != nil {
		r.Error(err)
	}
	return n
}

// next tries to take the lock as a waiter does.
func (r *libraryRaces) next() int {
	return r.ask(redis.NewScript(r.Try), append([]any{r.Me, 3600000}, r.Args...)...)
}

// race takes the lock for a while, and runs other during the action. It returns false if the lock
// expired before the preview or does not support the action.
func (r *libraryRaces) race(lasts string, ttl time.Duration, other func()) (result Result, ok bool) {
	r.Helper()
	leave(r.T, r.client, strings.ReplaceAll(strings.Join(r.Write, ";"), "3600000", lasts))
	request := ofKey(r.Key, r.Holder)
	request.TTL = ttl
	p, err := r.releaser.Preview(r.Context(), request)
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
	if r.ask(r.held, r.Me) != 1 || r.Library == "Redisson: RPermitExpirableSemaphore" && r.client.Get(r.Context(), r.Key).Val() != "0" {
		r.Fatalf("%s: the next client lost its lock; %+v", what, result)
	}
}

func (r *libraryRaces) releaseDuringARelease() {
	var freed, taken int
	result, _ := r.race("3600000", 0, func() { freed, taken = r.ask(r.free, r.Holder), r.next() })
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
	result, _ := r.race("3600000", 0, func() { renewed = r.ask(r.renew, r.Holder, 2*time.Hour.Milliseconds()) })
	if there := r.ask(r.held, r.Holder) == 1; result.Released == there || there && (renewed != 1 || result.Reason != Changed && result.Reason != Gone) {
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
	result, ok := r.race("3600000", 10*time.Minute, func() { freed, taken = r.ask(r.free, r.Holder), r.next() })
	if !ok {
		return
	}
	if left := r.client.PTTL(r.Context(), r.Key).Val(); freed != 1 || taken != 1 || left > 0 && left < 30*time.Minute {
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
	rows := redisWaits(t)
	redlock := rows[slices.IndexFunc(rows, func(w waits) bool { return w.String == "node-redlock" })]
	rows = append(rows, waits{
		Library: "rueidislock", Key: "rueidislock:0:a", Holder: rueidis, Me: "z" + rueidis[1:], Try: redlock.Try,
		Keys: []string{"rueidislock:1:a", "rueidislock:2:a"}, Write: strings.Split(fmt.Sprintf(
			"SET rueidislock:0:a %s PX 3600000;SET rueidislock:1:a %[1]s PX 3600000;SET rueidislock:2:a %[1]s PX 3600000", rueidis), ";"),
	})
	each := *tries
	if each < 1000 { // few by default, since there are thirty libraries
		each = max(each/8, 1)
	}
	for _, w := range rows {
		t.Run(w.Library+" "+w.How, func(t *testing.T) {
			hear(t, client, cmp.Or(w.Until.Channel, "none"))
			r := &libraryRaces{
				T: t, waits: w, client: client, releaser: releaser,
				held: holderScript(t, "held"), free: holderScript(t, "free"), renew: holderScript(t, "renew"),
			}
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

// A waiter is removed from a Redis queue while it gets the lock. It either holds the lock and keeps
// it, or was removed before.
func TestRedisWaiterGetsLockInRaces(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	held := holderScript(t, "held")
	for _, tt := range load[struct {
		Name, Waiter, Becomes, Passes, Hears string
		Write, Keys                          []string
	}](t, "turns.yaml", "a") {
		t.Run(tt.Name, func(t *testing.T) {
			hear(t, client, cmp.Or(tt.Hears, "none"))
			won, pace := 0, racePace{}
			for try := range *tries {
				leave(t, client, tt.Write...)
				request := ofKey(tt.Keys[0], tt.Waiter)
				request.Waiter = true
				p := confirmed(t, releaser, request)
				passed := 0
				var failed error
				result, err := pace.run(func() {
					passed, failed = redis.NewScript(tt.Passes).Run(t.Context(), client, tt.Keys, tt.Waiter, tt.Becomes).Int()
				}, func() (Result, error) { return releaser.Execute(t.Context(), p, "--yes") })
				must.Succeed(t, errors.Join(err, failed))
				holds, err := held.Run(t.Context(), client, tt.Keys[:1], tt.Becomes).Int()
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
	clients, releaser := onServers(t, servers...)
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
