package lockops_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// A master that restarts may have forgotten a lock, so it is reported and does not vote again until
// a TTL later.
func TestL1_RestartedMasterDoesNotVote(t *testing.T) {
	t.Parallel()
	masters := threeMasters(t)
	restarted := make(chan string, 10)
	s := redisSessionAt(t, addrsOf(masters), lockops.OnRestart(func(master string, _ time.Time) { restarted <- master }))
	const ttl = 6 * time.Second
	l := lockops.NewRedlock(s, "lock", lockops.WithTTL(ttl), lockops.WithMasterLimit(30*time.Second))
	release(t, acquire(t, l)) // learns the masters' identities
	must.Become(t, "released everywhere", func() bool { return votes(t, masters, "lock") == 0 })
	redisClient(t, masters[0]).Set(within(t), "lock", "somebody else's", time.Minute)
	before := time.Now()
	masters[1].Restart(t) // it and the first were another client's majority
	for tried := false; !tried || time.Since(before) < ttl-time.Second; tried = true {
		h, err := l.TryAcquire(within(t))
		must.True(t, err != nil || time.Since(before) >= ttl, "acquired the lock with the vote of a restarted master")
		if isAny(t, err, nil, lockops.ErrHeld, lockops.ErrNoQuorum); err == nil {
			release(t, h)
		}
	}
	must.Equal(t, <-restarted, masters[1].Addr, "reported master")
	redisClient(t, masters[0]).Del(within(t), "lock")
	release(t, acquire(t, l))
	must.Become(t, "the restarted master votes again", func() bool {
		h := acquire(t, l)
		defer release(t, h)
		return votes(t, masters[1:2], "lock") == 1
	})
}

// A master whose clock jumps ahead gives its vote to another client, which still has no majority.
func TestL4_ClockStepOnOneMaster(t *testing.T) {
	eachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis, key string) {
		// A master started less than a TTL ago does not vote, and other tests restart masters.
		l := lockops.NewRedlock(redisSession(t, masters...), key, lockops.WithTTL(20*time.Second), patient)
		var h *lockops.Hold
		must.Become(t, "all masters voted", func() bool {
			h = acquire(t, l)
			for start := time.Now(); time.Since(start) < time.Second; {
				if votes(t, masters, key) == 5 {
					return true
				}
			}
			release(t, h)
			return false
		})
		must.Succeed(t, redisClient(t, masters[2]).Del(within(t), key).Err())
		refused(t, lockops.NewRedlock(redisSession(t, masters...), key, patient), lockops.ErrHeld)
		must.Be(t, h.Extend(within(t)), nil, "extend")
		release(t, h)
	})
}

// A hold's deadline is one percent and 2 ms less than the TTL, counted from before the request.
func TestL7_DriftIsSubtracted(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		const ttl = 20 * time.Second
		const want = ttl - ttl/100 - 2*time.Millisecond
		for _, kind := range redisKinds {
			s := redisSession(t, mastersOf(kind, masters)...)
			l := lockOf(t, kind, s, servertest.UniqueName(t), lockops.WithTTL(ttl))
			var h *lockops.Hold
			for _, step := range []func(){
				func() { h = acquire(t, l) },
				func() { must.Succeed(t, h.Extend(within(t))) },
			} {
				before := time.Now()
				step()
				d, ok := h.Deadline()
				must.True(t, ok && !d.Before(before.Add(want)) && !d.After(time.Now().Add(want)), kind.Name, "deadline in", d.Sub(before), "want", want)
			}
			release(t, h)
		}
	})
}

// A Redlock needs an odd number of distinct masters, at least three. WithUncheckedMasters allows
// other numbers, for a sandbox.
func TestL11_MastersAreDistinctAndOdd(t *testing.T) {
	eachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis, key string) {
		a, b, c, d := masters[0].Addr, masters[1].Addr, masters[2].Addr, masters[3].Addr
		_, err := lockops.NewRedisSession(within(t), redisOptions(a, a, strings.Replace(a, "127.0.0.1", "localhost", 1)))
		must.Be(t, err, lockops.ErrSameServer, "one server three times")
		for _, addrs := range [][]string{{a}, {a, b}, {a, b, c, d}} {
			_, err := lockops.NewRedlock(redisSessionAt(t, addrs), key).Acquire(within(t))
			must.Be(t, err, lockops.ErrMasters, len(addrs), "masters")
			unchecked := redisSessionAt(t, addrs, lockops.WithUncheckedMasters())
			release(t, acquire(t, lockops.NewRedlock(unchecked, fmt.Sprint(key, len(addrs)), patient)))
		}
		// Three names of two servers: the third has no vote.
		s, err := lockops.NewRedisSession(within(t), redisOptions(a, b, b))
		if err != nil {
			must.Be(t, err, lockops.ErrSameServer)
			return
		}
		defer s.Close()
		redisClient(t, masters[0]).Set(within(t), key, "somebody else's", time.Minute)
		_, err = lockops.NewRedlock(s, key).TryAcquire(within(t))
		must.True(t, err != nil, "acquired the lock with two votes of one server")
		redisClient(t, masters[0]).Del(within(t), key)
	})
}

// When the majority is lost, the loss is reported before the remaining votes are released.
func TestRedlockReportsBeforeItDeletes(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis, key string) {
		h := fullRedlock(t, redisSession(t, masters...), masters, key)
		gone := make(chan bool, 1)
		go func() {
			c := redisClient(t, masters[2])
			for {
				reported := h.Context().Err() != nil
				if get(t, c, key) == "" {
					gone <- reported || h.Context().Err() != nil
					return
				}
			}
		}()
		redisClient(t, masters[0]).Del(within(t), key)
		redisClient(t, masters[1]).Del(within(t), key)
		must.Be(t, h.Extend(within(t)), lockops.ErrLost, "extend")
		must.True(t, <-gone, "the last vote was gone before the loss was reported")
	})
}

// Under contention, a release sends the next waiter a message, and no key is left.
func TestRedlockWakesTheNextWaiter(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis, key string) {
		var sessions []*lockops.RedisSession
		for range 6 {
			sessions = append(sessions, redisSession(t, masters...))
		}
		woken := redisClient(t, masters[0]).PSubscribe(within(t), "lockscope:wake:@*") // the first master orders the waiters
		must.Have(woken.Receive(within(t)))(t)
		messages := woken.Channel(redis.WithChannelSize(1000))
		var waited atomic.Int64
		note := lockops.OnWaiting(func(string) { waited.Add(1) })
		redlock := func(i int) lockops.Locker { return lockops.NewRedlock(sessions[i], key, note, patient) }
		neverTwoHolders(t, 6, 10, redlock, func(*lockops.Hold) {
			time.Sleep(time.Millisecond) // the others have to wait meanwhile
		})
		// Without the release's message it would be six of ten, since polling waiters send some,
		// too.
		must.Become(t, "most waiters were sent a message", func() bool { return int64(len(messages)) >= waited.Load()*4/5 })
		must.Be(t, woken.Close(), nil)
		for _, s := range sessions {
			s.Close()
		}
		noKey(t, "redlock", masters, key)
	})
}

// The first waiter notifies the next one if it gives up.
func TestAbandonedWaiterPassesItsTurnOn(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	c := redisClient(t, m)
	for _, kind := range oneRedisKinds {
		for range 10 {
			hour := lockops.WithTTL(time.Hour) // a grant to no client would not expire in time
			h := acquire(t, lockOf(t, kind, redisSession(t, m), "lock", hour))
			ctx, cancel := context.WithCancel(within(t))
			abandoned := redisSession(t, m)
			name, first := mustQueue(t, ctx, kindMaker(t, kind, abandoned, "lock", hour))
			_, second := mustQueue(t, within(t), kindMaker(t, kind, redisSession(t, m), "lock", hour))
			go cancel()
			release(t, h)
			if a := <-first; a.err == nil {
				release(t, a.h)
			}
			abandoned.Close() // waits for the clean-up
			must.True(t, get(t, c, "lock") != name, kind.Name, "the abandoned waiter has the key")
			release(t, granted(t, second))
			cancel()
		}
		must.Equal(t, get(t, c, "lock"), "", kind.Name, "value left at the key")
	}
}

// A release does not delete a vote that another client has by then.
func TestRedlockReleaseLeavesOthersAlone(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis, key string) {
		s := redisSession(t, masters...)
		h := fullRedlock(t, s, masters, key)
		c := redisClient(t, masters[1])
		c.Set(within(t), key, "other", time.Minute)
		release(t, h)
		s.Close()
		must.Equal(t, get(t, c, key), "other", "the other client's vote")
		must.Equal(t, votes(t, masters, key), 1, "masters with the key")
	})
}

// A waiter that gives up leaves the queue on every master, including one that ordered the waiters
// earlier.
func TestRedlockWaiterLeavesAllMasters(t *testing.T) {
	t.Parallel()
	masters := anyMasters(t)
	link := farAway(t, 0, 0, addrsOf(masters)...)
	turns := recipe.LockscopeKey(recipe.TurnPrefix, "lock")
	queued := func(i int) bool {
		return must.Have(redisClient(t, masters[i]).Exists(within(t), turns).Result())(t) == 1
	}
	h := acquire(t, lockops.NewRedlock(redisSession(t, masters...), "lock", patient))
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	got := begin(ctx, lockops.NewRedlock(link.session(t), "lock"))
	must.Become(t, "the waiter is queued on the first master", func() bool { return queued(0) })
	link.wires[masters[0].Addr].Stop()
	must.Become(t, "the waiter is queued on the second master", func() bool { return queued(1) })
	link.heal()
	cancel()
	must.Be(t, (<-got).err, context.Canceled)
	for i, m := range masters {
		must.Succeed(t, redisClient(t, m).Persist(within(t), turns).Err()) // otherwise it would expire
		must.Become(t, fmt.Sprint("the waiter has left master ", i), func() bool { return !queued(i) })
	}
	release(t, h)
}
