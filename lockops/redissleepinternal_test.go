package lockops

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// sleeper returns a function that simulates a suspension of the session's machine.
func sleeper(s *RedisSession) func(time.Duration) {
	var slept atomic.Int64
	s.clock.suspended = func() time.Duration { return time.Duration(slept.Load()) }
	s.sleepClock = newSleepClock(s.clock)
	return func(d time.Duration) { slept.Add(int64(d)) }
}

// The servers' clocks go on while the machine is suspended, so the hold ends soon after it wakes.
// Later holds last for their full TTL.
func TestSuspensionDoesNotExtendHold(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{"renewed": nil, "not renewed": {WithoutRenewal()}} {
		t.Run(name, func(t *testing.T) {
			eachSleeper(t, func(t *testing.T, suspend func(time.Duration), lock func(...Option) Locker) {
				l := lock(append(opts, WithTTL(time.Hour))...)
				h := must.Have(l.Acquire(t.Context()))(t)
				if opts != nil { // a renewal would move the deadline
					before, _ := h.Deadline()
					suspend(20 * time.Minute)
					at, ok := h.Deadline()
					must.True(t, ok, "the hold has no deadline")
					must.Equal(t, before.Sub(at), 20*time.Minute, "move of the deadline by a suspension of 20 minutes")
				}
				suspend(time.Hour)
				if at, ok := h.Deadline(); ok && time.Now().Before(at) {
					t.Errorf("after a suspension as long as the TTL, the hold lasts for another %v", time.Until(at))
				}
				select {
				case <-h.Context().Done():
				case <-time.After(time.Minute):
					t.Fatal("the loss was not reported")
				}
				ranOut(t, context.Cause(h.Context()))
				_ = h.Release(t.Context()) // the clocks of these servers did not advance
				suspend(24 * time.Hour)
				h = must.Have(l.Acquire(t.Context()))(t)
				if at, ok := h.Deadline(); !ok || !time.Now().Before(at) { // a heartbeat, for a fair lock handed over
					t.Errorf("acquired after the suspension, the hold lasts for %v (%v)", time.Until(at), ok)
				}
			})
		})
	}
}

// A hold may be released after the machine wakes but before the session notices the suspension.
func TestReleaseAfterExpiryReportsLoss(t *testing.T) {
	t.Parallel()
	eachSleeper(t, func(t *testing.T, suspend func(time.Duration), lock func(...Option) Locker) {
		l := lock(WithTTL(time.Hour))
		h := must.Have(l.Acquire(t.Context()))(t)
		suspend(time.Hour)
		ranOut(t, h.Release(t.Context()))
		// The clocks of these servers did not advance, so the release must have removed the key.
		must.Have(l.Acquire(t.Context()))(t)
	})
}

// The hold has 10 minutes left when the machine wakes, but its renewal timer has 20, so it must be
// renewed at once.
func TestAHoldIsRenewedOnWaking(t *testing.T) {
	t.Parallel()
	eachSleeper(t, func(t *testing.T, suspend func(time.Duration), lock func(...Option) Locker) {
		renewed := make(chan time.Time, 1)
		h := must.Have(lock(WithTTL(time.Hour), OnRenew(func(until time.Time) { renewed <- until })).Acquire(t.Context()))(t)
		suspend(50 * time.Minute)
		select {
		case until := <-renewed:
			must.True(t, time.Until(until) >= 59*time.Minute, "renewed for less than nearly an hour")
		case <-time.After(time.Minute):
			t.Error("not renewed")
		}
		must.Be(t, h.Release(t.Context()), nil)
	})
}

// The machine is suspended past the deadline while the extension is under way.
func TestSuspensionDuringExtendLosesHold(t *testing.T) {
	t.Parallel()
	s := newRedisSession(nil)
	defer s.Close()
	suspend := sleeper(s)
	g := newGrant(t.Context(), lockKey{s, "redis", "lock"})
	since := s.sleepClock.now()
	l := newLease(s, g, &options{ttl: time.Hour}, func(context.Context) error {
		suspend(2 * time.Minute)
		return nil
	}, since, since.Add(time.Minute))
	ranOut(t, l.extend(t.Context()))
}

// If a release is repeated after a lost answer, a missing key was deleted by the first request.
// Another client may have had its key before that request.
func TestRepeatedReleaseAfterLostAnswer(t *testing.T) {
	t.Parallel()
	s := newRedisSession(nil)
	defer s.Close()
	r := &redisGrant{k: &redisKey{session: s, master: &master{}}}
	reply := &NodeError{Err: ErrOther}
	must.Be(t, r.removed(ErrGone, context.DeadlineExceeded), nil, "missing key")
	if err := r.removed(reply, context.DeadlineExceeded); !errors.Is(err, ErrOther) || !errors.Is(err, ErrUnknownRelease) || errors.Is(err, ErrLost) {
		t.Errorf("another client's key: %v, want ErrOther and ErrUnknownRelease", err)
	}
	must.Be(t, r.removed(reply, nil), ErrLost, "another client's key at the first answer")
}

// eachSleeper runs a test with each kind of lock on Redis, on a machine that can be suspended.
func eachSleeper(t *testing.T, f func(t *testing.T, suspend func(time.Duration), lock func(...Option) Locker)) {
	for _, kind := range append(KindsOn(OnRedis), KindsOn(OnRedisMasters)...) {
		t.Run(kind.Name, func(t *testing.T) {
			s := embeddedMasters(t, map[Servers]int{OnRedis: 1, OnRedisMasters: 3}[kind.On])
			f(t, sleeper(s), func(opts ...Option) Locker {
				return must.Have(kind.New(s, "lock", append(opts, WithMasterLimit(time.Minute))...))(t)
			})
		})
	}
}
