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

func votes(t testing.TB, masters []*servertest.Redis, key string) (n int) {
	t.Helper()
	for _, m := range masters {
		c := redis.NewClient(&redis.Options{Addr: m.Addr, Protocol: 2, ReadTimeout: time.Minute}) // closed at once: tests ask again and again
		if get(t, c, key) != "" {
			n++
		}
		c.Close()
	}
	return n
}

// patient is a limit that a busy machine keeps; a Redlock's own is half a second.
var patient = lockops.WithMasterLimit(8 * time.Second)

func TestRedlockIsExclusive(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		sessions := []*lockops.RedisSession{redisSession(t, masters...), redisSession(t, masters...)}
		contend(t, 6, 3, func(i int) lockops.Locker { return lockops.NewRedlock(sessions[i%2], key, patient) }, func(h *lockops.Hold) {
			if token, ok := h.Token(); ok || token != 0 {
				t.Errorf("token %d, %v: Redlock has none", token, ok)
			}
		})
		for _, s := range sessions {
			s.Close()
		}
		must.Equal(t, votes(t, masters, key), 0, "the key is left on … masters")
	})
}

// TestL2_VotesAreMadeUpFor: a hold that lost votes asks those masters again, so that it does not hang by a
// bare majority.
func TestL2_VotesAreMadeUpFor(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		h := acquire(t, lockops.NewRedlock(redisSession(t, masters...), key, patient))
		must.Become(t, "all masters voted", func() bool { return votes(t, masters, key) == 3 })
		redisClient(t, masters[0]).Del(within(t), key)
		must.Become(t, "the lost vote is back", func() bool { // one Extend finds out, the next one asks
			must.Succeed(t, h.Extend(within(t)))
			return votes(t, masters, key) == 3
		})
		redisClient(t, masters[1]).Del(within(t), key)
		must.Be(t, h.Extend(within(t)), nil, "extend with the other two")
		release(t, h)
	})
}

// TestL3_ASlowMasterHoldsNobodyUp: with one master of three stopped, acquiring, extending and releasing wait
// for the others only; when it goes on after its limit, the SET that it got is refused, and no key stays.
func TestL3_ASlowMasterHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	const ttl = 10 * time.Minute
	stopped := func(limit time.Duration) *lockops.RedisSession {
		s := redisSession(t, masters...)
		l := lockops.NewRedlock(s, "lock", lockops.WithMasterLimit(limit), lockops.WithTTL(ttl))
		release(t, acquire(t, l)) // connections and clocks
		must.Become(t, "released everywhere", func() bool { return votes(t, masters, "lock") == 0 })
		masters[1].Pause(t)
		start := time.Now()
		h := acquire(t, l)
		must.Be(t, h.Extend(within(t)), nil)
		if d, _ := h.Deadline(); d.Sub(start) < ttl-ttl/50 {
			t.Errorf("a deadline %v after it was asked for, want the TTL of %v without its drift", d.Sub(start), ttl)
		}
		release(t, h)
		return s
	}
	s := stopped(ttl / 2) // waiting for it is in vain
	masters[1].Resume(t)
	s.Close()
	stopped(5 * time.Second).Close() // the requests to the stopped master have been given up
	masters[1].Resume(t)
	c := redisClient(t, masters[1])
	must.Succeed(t, c.Ping(within(t)).Err())
	must.Equal(t, get(t, c, "lock"), "", "the stopped master has the key now")
}

// TestLateSetLeavesNoKey: SET and release were both sent to a stopped master and given up; in whichever order
// it executes them afterwards, no key stays.
func TestLateSetLeavesNoKey(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	for range 5 {
		s := redisSession(t, m)
		m.Pause(t)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, err := lockops.NewRedisMutex(s, "lock", lockops.WithMasterLimit(50*time.Millisecond)).Acquire(ctx)
		cancel()
		must.Be(t, err, context.DeadlineExceeded, "acquire")
		s.Close()
		m.Resume(t)
		must.Equal(t, get(t, c, "lock"), "", "the key is there")
	}
}

// TestL5_PauseDuringAcquire: answers that took longer than the TTL are not a lock.
func TestL5_PauseDuringAcquire(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	s := redisSession(t, masters...)
	release(t, acquire(t, lockops.NewRedlock(s, "lock", patient))) // connections and clocks
	must.Become(t, "released everywhere", func() bool { return votes(t, masters, "lock") == 0 })
	l := lockops.NewRedlock(s, "lock", lockops.WithTTL(100*time.Millisecond), lockops.WithMasterLimit(10*time.Second))
	for _, m := range masters[:2] {
		m.Pause(t)
	}
	resume := time.AfterFunc(time.Second, func() { // by far more than the TTL after it was asked
		for _, m := range masters[:2] {
			m.Resume(t)
		}
	})
	defer resume.Stop()
	if h, err := l.TryAcquire(within(t)); !errors.Is(err, lockops.ErrNoQuorum) {
		t.Errorf("TryAcquire: %v, %v; want ErrNoQuorum", h, err)
	}
	s.Close()
	must.Equal(t, votes(t, masters, "lock"), 0, "the key is left on … masters")
}

// TestL8_SplitVotesAreTakenBack: no client wins with 2 of 5; the votes are given back at once.
func TestL8_SplitVotesAreTakenBack(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 5, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		for _, m := range masters[:3] {
			redisClient(t, m).SetNX(within(t), key, "other", time.Minute)
		}
		s := redisSession(t, masters...)
		l := lockops.NewRedlock(s, key, patient)
		if _, err := l.TryAcquire(within(t)); !errors.Is(err, lockops.ErrHeld) {
			t.Errorf("TryAcquire: %v, want ErrHeld", err)
		}
		s.Close()
		must.Equal(t, votes(t, masters, key), 3, "the key is on … masters")
	})
}

// TestL9_PartialExtendIsLost: with fewer than a majority extended the lock is lost now, and given up everywhere.
func TestL9_PartialExtendIsLost(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		s := redisSession(t, masters...)
		h := acquire(t, lockops.NewRedlock(s, key, patient))
		must.Become(t, "all masters voted", func() bool { return votes(t, masters, key) == 3 })
		redisClient(t, masters[0]).Del(within(t), key)
		redisClient(t, masters[1]).Set(within(t), key, "other", time.Minute)
		err := h.Extend(within(t))
		var node *lockops.NodeError
		if !errors.Is(err, lockops.ErrLost) || !errors.Is(err, lockops.ErrGone) || !errors.Is(err, lockops.ErrOther) || !errors.As(err, &node) {
			t.Errorf("extend: %v, want ErrLost with ErrGone and ErrOther of two masters", err)
		}
		must.Be(t, context.Cause(h.Context()), lockops.ErrLost, "cause")
		must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
		s.Close()
		must.Equal(t, votes(t, masters, key), 1, "the key is on … masters")
	})
}

// Another client may have had the key in between, so
// such a vote does not count for the extension's majority.
func TestL9_RestoredVoteDoesNotCountYet(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 3, func(t *testing.T, masters []*servertest.Redis) {
		key := servertest.UniqueName(t)
		h := acquire(t, lockops.NewRedlock(redisSession(t, masters...), key, lockops.WithoutRenewal(), patient))
		must.Become(t, "all masters voted", func() bool { return votes(t, masters, key) == 3 })
		redisClient(t, masters[0]).Del(within(t), key)
		must.Succeed(t, h.Extend(within(t))) // the vote is found lost
		redisClient(t, masters[1]).Del(within(t), key)
		must.Be(t, h.Extend(within(t)), lockops.ErrLost, "extended by one vote and one that was made up for")
	})
}

// TestL10_ReleaseTellsEachMaster: a release without a majority says of each master whether the vote was lost or the
// master did not answer.
func TestL10_ReleaseTellsEachMaster(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	s := redisSession(t, masters...)
	h := acquire(t, lockops.NewRedlock(s, "lock", lockops.WithMasterLimit(10*time.Second)))
	must.Become(t, "all masters voted", func() bool { return votes(t, masters, "lock") == 3 })
	masters[0].Kill(t)
	redisClient(t, masters[1]).Del(within(t), "lock")
	err := h.Release(within(t))
	kinds := map[string]error{}
	var nodes func(error)
	nodes = func(err error) {
		if n, ok := err.(*lockops.NodeError); ok {
			kinds[n.Node] = n.Err
			return
		}
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			nodes(u.Unwrap())
		case interface{ Unwrap() []error }:
			for _, e := range u.Unwrap() {
				nodes(e)
			}
		}
	}
	nodes(err)
	if len(kinds) != 2 || errors.Is(kinds[masters[0].Addr], lockops.ErrGone) || !errors.Is(kinds[masters[1].Addr], lockops.ErrGone) {
		t.Errorf("release: %v\nby master: %v", err, kinds)
	}
}

// TestRedlockWithoutQuorumSaysWhy names the masters that did not answer.
func TestRedlockWithoutQuorumSaysWhy(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	s := redisSession(t, masters...)
	masters[0].Kill(t)
	masters[2].Kill(t)
	_, err := lockops.NewRedlock(s, "lock").TryAcquire(within(t))
	var node *lockops.NodeError
	if !errors.Is(err, lockops.ErrNoQuorum) || !errors.As(err, &node) {
		t.Errorf("TryAcquire: %v, want ErrNoQuorum and a NodeError", err)
	}
	s.Close()
	must.Equal(t, votes(t, masters[1:2], "lock"), 0, "the key is left on the living master")
	options := []*redis.UniversalOptions{
		{Addrs: []string{masters[0].Addr}}, {Addrs: []string{masters[1].Addr}}, {Addrs: []string{masters[2].Addr}},
	}
	s, err = lockops.NewRedisSession(within(t), options)
	if err != nil {
		t.Fatalf("one master answers: %v", err)
	}
	defer s.Close()
	const wait = 6 * time.Second // a busy machine asks once in it
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	start := time.Now()
	_, err = lockops.NewRedlock(s, "lock").Acquire(ctx)
	if !errors.Is(err, lockops.ErrNoQuorum) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) < wait {
		t.Errorf("acquire: %v after %v, want ErrNoQuorum when the time is over", err, time.Since(start))
	}
	masters[1].Kill(t)
	if _, err := lockops.NewRedisSession(within(t), options); !errors.Is(err, lockops.ErrNoQuorum) {
		t.Errorf("no master answers: %v, want ErrNoQuorum", err)
	}
}
