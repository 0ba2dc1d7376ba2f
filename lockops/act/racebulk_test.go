package act

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/servertest"
)

// ttlOfMasters sets a TTL on three masters while the lock changes.
type ttlOfMasters struct {
	*testing.T
	clients  []redis.UniversalClient
	releaser *Redis
	pace     racePace
	key      string
	set      int
}

const ttlHolder = "b29vb29vb29vb29vb29vbw=="

// race takes the lock for a while, and runs other on each master during the action. It returns
// false if the lock expired before the preview.
func (r *ttlOfMasters) race(lasts time.Duration, other func(c redis.UniversalClient) int) (result Result, said [3]int, ok bool) {
	for _, c := range r.clients {
		c.Set(r.Context(), r.key, ttlHolder, lasts)
	}
	p, err := r.releaser.Preview(r.Context(), Request{ID: inspect.ID{Backend: "redis", Path: r.key}, Owner: ttlHolder, TTL: 10 * time.Minute})
	if lasts < time.Second && err == nil && (p.Refused == Gone || p.Refused == Changed) {
		return result, said, false
	}
	if err != nil || p.Refused != "" {
		r.Fatalf("%s: %+v, %v", r.key, p, err)
	}
	result, err = r.pace.run(func() {
		for i, c := range r.clients {
			said[i] = other(c)
		}
	}, func() (Result, error) { return r.releaser.Execute(r.Context(), p, "--yes") })
	done := 0
	for i := range result.Masters {
		if result.Masters[i].Set {
			done++
		}
	}
	need := 2
	if p.Seen.State != inspect.Holding { // it expired on two masters, so it has no quorum
		need = 1
	}
	if err != nil || result.Released || result.Set && done < need || !result.Set && result.Reason == "" {
		r.Fatalf("%s: %+v, %v", r.key, result, err)
	}
	if result.Set {
		r.set++
	}
	return result, said, true
}

// next takes the lock if it is free, and keeps it for the requested time.
func (r *ttlOfMasters) next(c redis.UniversalClient) int {
	taken, _ := c.SetNX(r.Context(), r.key, nextValue, time.Hour).Result()
	return map[bool]int{true: 1}[taken]
}

func (r *ttlOfMasters) check(i int, value string, least time.Duration, result Result) {
	if has, left := r.clients[i].Get(r.Context(), r.key).Val(), r.clients[i].PTTL(r.Context(), r.key).Val(); has != value || left < least {
		r.Fatalf("%s: master %d has %q for %v, not %q for %v; %+v", r.key, i, has, left, value, least, result)
	}
}

func (r *ttlOfMasters) duringARelease() {
	result, said, _ := r.race(time.Hour, func(c redis.UniversalClient) int {
		freed, _ := ownRelease.Run(r.Context(), c, []string{r.key}, ttlHolder).Int()
		return freed + r.next(c)
	})
	for i := range r.clients {
		if r.check(i, nextValue, 30*time.Minute, result); said[i] != 2 {
			r.Fatalf("%s: master %d was not freed by its holder; %+v", r.key, i, result)
		}
	}
}

func (r *ttlOfMasters) duringARenewal() {
	result, said, _ := r.race(time.Hour, func(c redis.UniversalClient) int {
		renewed, _ := ownRenewal.Run(r.Context(), c, []string{r.key}, ttlHolder, 2*time.Hour.Milliseconds()).Int()
		return renewed
	})
	for i := range r.clients {
		if r.check(i, ttlHolder, 9*time.Minute, result); said[i] != 1 || !result.Masters[i].Set {
			r.Fatalf("%s: master %d: renewed %d times; %+v", r.key, i, said[i], result)
		}
	}
}

func (r *ttlOfMasters) duringItsEnd() {
	result, said, ok := r.race(3*time.Millisecond, r.next)
	for i, c := range r.clients {
		switch has := c.Get(r.Context(), r.key).Val(); {
		case ok && said[i] == 1:
			r.check(i, nextValue, 30*time.Minute, result)
		case ok && result.Masters[i].Set:
			r.check(i, ttlHolder, 9*time.Minute, result)
		case has != "" && has != ttlHolder:
			r.Fatalf("%s: master %d has %q; %+v", r.key, i, has, result)
		}
		c.Del(r.Context(), r.key)
	}
}

// The TTL is set only where the seen holder still has the lock while it releases, renews or
// expires.
func TestTTLSafeInRaces(t *testing.T) {
	t.Parallel()
	servers := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	clients, addrs := redisMastersOf(t, servers)
	r := &ttlOfMasters{T: t, clients: clients, releaser: onMasters(t, clients, addrs)}
	for try := range *tries {
		r.key = fmt.Sprintf("lock:%d", try)
		r.duringARelease()
		for _, c := range clients {
			c.Del(t.Context(), r.key)
		}
		r.duringARenewal()
		r.duringItsEnd()
	}
	t.Logf("%d races, TTL set in %d", 3**tries, r.set)
}
