package lockops_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// votes counts the masters that have a key.
func votes(t testing.TB, masters []*servertest.Redis, key string) (n int) {
	t.Helper()
	for _, m := range masters {
		c := redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, ReadTimeout: time.Minute}) // closed at once: tests poll
		if get(t, c, key) != "" {
			n++
		}
		c.Close()
	}
	return n
}

// A hold that lost votes asks those masters again, so that it has more than a bare majority.
func TestL2_LostVotesAreRegained(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis, key string) {
		h := fullRedlock(t, redisSession(t, masters...), masters, key)
		redisClient(t, masters[0]).Del(within(t), key)
		must.Become(t, "the lost vote is back", func() bool { // one Extend notices the loss, the next asks again
			must.Succeed(t, h.Extend(within(t)))
			return votes(t, masters, key) == 3
		})
		redisClient(t, masters[1]).Del(within(t), key)
		must.Be(t, h.Extend(within(t)), nil, "extend with the other two")
		release(t, h)
	})
}

// With one of three masters paused, calls wait only for the others. When it resumes after the time
// limit, it refuses the late request and keeps no key.
func TestL3_ASlowMasterDelaysNoClient(t *testing.T) {
	t.Parallel()
	masters := threeMasters(t)
	const ttl = 10 * time.Minute
	stopped := func(limit time.Duration) *lockops.RedisSession {
		s := redisSession(t, masters...)
		l := lockops.NewRedlock(s, "lock", lockops.WithMasterLimit(limit), lockops.WithTTL(ttl))
		release(t, acquire(t, l)) // connects and reads clocks
		must.Become(t, "released everywhere", func() bool { return votes(t, masters, "lock") == 0 })
		masters[1].Pause(t)
		start := time.Now()
		h := acquire(t, l)
		must.Be(t, h.Extend(within(t)), nil)
		d, _ := h.Deadline()
		must.True(t, d.Sub(start) >= ttl-ttl/50, "deadline", d.Sub(start), "after the request, want the TTL less the drift")
		release(t, h)
		return s
	}
	s := stopped(ttl / 2) // waiting for the paused master would time out
	masters[1].Resume(t)
	s.Close()
	stopped(5 * time.Second).Close() // waits until the requests to the paused master have timed out
	masters[1].Resume(t)
	c := redisClient(t, masters[1])
	must.Succeed(t, c.Ping(within(t)).Err())
	must.Equal(t, get(t, c, "lock"), "", "value at the resumed master")
}

// Answers that take longer than the TTL grant no lock.
func TestL5_PauseDuringAcquire(t *testing.T) {
	t.Parallel()
	masters := anyMasters(t)
	link := farAway(t, 0, 0, addrsOf(masters)...)
	s := link.session(t)
	release(t, acquire(t, lockops.NewRedlock(s, "lock", patient))) // connects and reads clocks
	must.Become(t, "released everywhere", func() bool { return votes(t, masters, "lock") == 0 })
	l := lockops.NewRedlock(s, "lock", lockops.WithTTL(100*time.Millisecond), lockops.WithMasterLimit(10*time.Second))
	for _, m := range masters[:2] {
		link.wires[m.Addr].Stop()
		resume := time.AfterFunc(time.Second, link.wires[m.Addr].Heal) // long after the TTL
		defer resume.Stop()
	}
	refused(t, l, lockops.ErrNoQuorum)
	s.Close()
	must.Equal(t, votes(t, masters, "lock"), 0, "masters with the key")
}

// A client with two of five votes does not win, and its votes are released at once.
func TestL8_SplitVotesAreTakenBack(t *testing.T) {
	eachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis, key string) {
		for _, m := range masters[:3] {
			redisClient(t, m).SetNX(within(t), key, "other", time.Minute)
		}
		s := redisSession(t, masters...)
		refused(t, lockops.NewRedlock(s, key, patient), lockops.ErrHeld)
		s.Close()
		must.Equal(t, votes(t, masters, key), 3, "masters with the key")
	})
}

// If fewer than a majority extend the lock, it is lost at once and released everywhere.
func TestL9_PartialExtendIsLost(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis, key string) {
		s := redisSession(t, masters...)
		h := fullRedlock(t, s, masters, key)
		redisClient(t, masters[0]).Del(within(t), key)
		redisClient(t, masters[1]).Set(within(t), key, "other", time.Minute)
		err := h.Extend(within(t))
		isAll(t, err, lockops.ErrLost, lockops.ErrGone, lockops.ErrOther)
		var node *lockops.NodeError
		must.True(t, errors.As(err, &node), "extend: no master is named", err)
		must.Be(t, context.Cause(h.Context()), lockops.ErrLost, "cause")
		must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
		s.Close()
		must.Equal(t, votes(t, masters, key), 1, "masters with the key")
	})
}

// Another client may have had the key in between, so a restored vote does not count for this
// extension.
func TestL9_RestoredVoteDoesNotCountYet(t *testing.T) {
	eachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis, key string) {
		h := fullRedlock(t, redisSession(t, masters...), masters, key, lockops.WithoutRenewal())
		redisClient(t, masters[0]).Del(within(t), key)
		must.Succeed(t, h.Extend(within(t))) // notices the lost vote
		redisClient(t, masters[1]).Del(within(t), key)
		must.Be(t, h.Extend(within(t)), lockops.ErrLost, "Extend with one vote and one restored vote")
	})
}

// The error of a release without a majority says for each master whether its vote was lost or it
// did not answer.
func TestL10_ReleaseReportsEachMaster(t *testing.T) {
	t.Parallel()
	masters := anyMasters(t)
	h := fullRedlock(t, redisSession(t, masters...), masters, "lock", lockops.WithMasterLimit(10*time.Second))
	masters[0].Kill(t)
	redisClient(t, masters[1]).Del(within(t), "lock")
	err := h.Release(within(t))
	for i, named := range []bool{true, true, false} {
		must.Equal(t, contains(err, masters[i].Addr+": "), named, err, "names master", i)
	}
	gone := ": " + lockops.ErrGone.Error()
	must.True(t, errors.Is(err, lockops.ErrGone) && contains(err, masters[1].Addr+gone), "the master that lost the key:", err)
	must.True(t, !contains(err, masters[0].Addr+gone), "the killed master:", err)
}

// The errors of calls without a quorum name the masters that did not answer.
func TestRedlockWithoutQuorumSaysWhy(t *testing.T) {
	t.Parallel()
	masters := anyMasters(t)
	s := redisSession(t, masters...)
	masters[0].Kill(t)
	masters[2].Kill(t)
	_, err := lockops.NewRedlock(s, "lock").TryAcquire(within(t))
	var node *lockops.NodeError
	must.True(t, errors.Is(err, lockops.ErrNoQuorum) && errors.As(err, &node), "TryAcquire:", err, "want ErrNoQuorum and a NodeError")
	s.Close()
	must.Equal(t, votes(t, masters[1:2], "lock"), 0, "live masters with the key")
	s = redisSessionAt(t, addrsOf(masters)) // with one live master
	const wait = 6 * time.Second            // enough for one attempt on a busy machine
	ctx := limited(t, wait)
	start := time.Now()
	_, err = lockops.NewRedlock(s, "lock").Acquire(ctx)
	isAll(t, err, lockops.ErrNoQuorum, context.DeadlineExceeded)
	must.True(t, time.Since(start) >= wait, "Acquire ended before its context")
	masters[1].Kill(t)
	_, err = lockops.NewRedisSession(within(t), redisOptions(addrsOf(masters)...))
	must.Be(t, err, lockops.ErrNoQuorum, "session without a live master")
}

// fullRedlock returns a lock that all masters have voted for.
func fullRedlock(
	t *testing.T, s *lockops.RedisSession, masters []*servertest.Redis, key string, opts ...lockops.Option,
) *lockops.Hold {
	t.Helper()
	h := acquire(t, lockOf(t, redisKind("redlock"), s, key, opts...))
	must.Become(t, "all masters voted", func() bool { return votes(t, masters, key) == len(masters) })
	return h
}

// adoptable returns clients that a session may adopt.
func adoptable(t *testing.T, masters []*servertest.Redis) (clients []redis.UniversalClient) {
	for _, m := range masters {
		c := redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, ContextTimeoutEnabled: true, MaxRetries: -1, ReadTimeout: time.Minute})
		t.Cleanup(func() { c.Close() })
		clients = append(clients, c)
	}
	return clients
}
