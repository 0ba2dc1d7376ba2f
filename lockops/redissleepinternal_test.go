package lockops

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// sleeper makes the machine of a session look as if it had been suspended, and notices that as a session does.
func sleeper(s *RedisSession) func(time.Duration) {
	var slept atomic.Int64
	s.clock.suspended = func() time.Duration { return time.Duration(slept.Load()) }
	s.sleepClock = newSleepClock(s.clock)
	return func(d time.Duration) { slept.Add(int64(d)) }
}

type acquirer interface {
	Acquire(ctx context.Context) (*Hold, error)
}

var sleptKinds = []struct {
	name    string
	masters int
	make    func(s *RedisSession, opts ...Option) acquirer
}{
	{"mutex", 1, func(s *RedisSession, opts ...Option) acquirer { return NewRedisMutex(s, "lock", opts...) }},
	{"fair", 1, func(s *RedisSession, opts ...Option) acquirer { return NewRedisFairMutex(s, "lock", opts...) }},
	{"redlock", 3, func(s *RedisSession, opts ...Option) acquirer {
		return NewRedlock(s, "lock", append(opts, WithMasterLimit(time.Minute))...)
	}},
}

// Its own clock stopped, those of the servers did not. The
// hold ends soon after the machine has woken, though its timers stopped as well; what is taken afterwards
// is not shortened.
func TestSuspensionDoesNotExtendHold(t *testing.T) {
	t.Parallel()
	for _, kind := range sleptKinds {
		for name, opts := range map[string][]Option{"renewed": nil, "not renewed": {WithoutRenewal()}} {
			t.Run(kind.name+"/"+name, func(t *testing.T) {
				s := embeddedMasters(t, kind.masters)
				suspend := sleeper(s)
				l := kind.make(s, append(opts, WithTTL(time.Hour))...)
				h, err := l.Acquire(t.Context())
				must.Succeed(t, err)
				if opts != nil { // a renewal would move the deadline
					before, _ := h.Deadline()
					suspend(20 * time.Minute)
					if at, ok := h.Deadline(); !ok || before.Sub(at) != 20*time.Minute {
						t.Errorf("20 minutes' sleep are %v of the hold's (%v)", before.Sub(at), ok)
					}
				}
				suspend(time.Hour)
				if at, ok := h.Deadline(); ok && time.Now().Before(at) {
					t.Errorf("after an hour's sleep, which was the TTL, it is held for %v more", time.Until(at))
				}
				select {
				case <-h.Context().Done():
				case <-time.After(time.Minute):
					t.Fatal("nobody was told")
				}
				if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) || !errors.Is(cause, errRanOut) {
					t.Errorf("cause %v", cause)
				}
				_ = h.Release(t.Context()) // these servers did not go on
				suspend(24 * time.Hour)
				if h, err = l.Acquire(t.Context()); err != nil {
					t.Fatalf("taken after the sleep: %v", err)
				}
				if at, ok := h.Deadline(); !ok || !time.Now().Before(at) { // a fair lock that was handed over: a heartbeat, at first
					t.Errorf("taken after the sleep, it is held for %v (%v)", time.Until(at), ok)
				}
			})
		}
	}
}

// The work goes on as soon as the machine has woken, and may be done
// before anybody has looked whether it was suspended.
func TestReleaseAfterExpiryReportsLoss(t *testing.T) {
	t.Parallel()
	for _, kind := range sleptKinds {
		t.Run(kind.name, func(t *testing.T) {
			s := embeddedMasters(t, kind.masters)
			suspend := sleeper(s)
			l := kind.make(s, WithTTL(time.Hour))
			h := must.Have(l.Acquire(t.Context()))(t)
			suspend(time.Hour)
			if err := h.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, errRanOut) {
				t.Errorf("%v, want that it had run out", err)
			}
			if _, err := l.Acquire(t.Context()); err != nil { // these servers did not go on: what is left there was removed
				t.Error(err)
			}
		})
	}
}

// TestAHoldIsRenewedOnWaking: the time of its renewal is 20 minutes of this machine's ahead, its end 10.
func TestAHoldIsRenewedOnWaking(t *testing.T) {
	t.Parallel()
	for _, kind := range sleptKinds {
		t.Run(kind.name, func(t *testing.T) {
			s := embeddedMasters(t, kind.masters)
			suspend := sleeper(s)
			renewed := make(chan time.Time, 1)
			h := must.Have(kind.make(s, WithTTL(time.Hour), OnRenew(func(until time.Time) { renewed <- until })).Acquire(t.Context()))(t)
			suspend(50 * time.Minute)
			select {
			case until := <-renewed:
				if left := time.Until(until); left < 59*time.Minute {
					t.Errorf("renewed for %v, want nearly an hour", left)
				}
			case <-time.After(time.Minute):
				t.Error("not renewed")
			}
			must.Be(t, h.Release(t.Context()), nil)
		})
	}
}

// The machine slept for longer than the TTL while the answer
// was on its way.
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
	if err := l.extend(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, errRanOut) {
		t.Errorf("%v, want ErrLost", err)
	}
}

// TestAReleaseWhoseAnswerWasLost: a key that is gone was deleted by the first request; one that another client
// has may have been theirs before.
func TestAReleaseWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	s := newRedisSession(nil)
	defer s.Close()
	r := &redisGrant{k: &redisKey{session: s, master: &master{}}}
	reply := &NodeError{Err: ErrOther}
	must.Be(t, r.removed(ErrGone, context.DeadlineExceeded), nil, "gone")
	if err := r.removed(reply, context.DeadlineExceeded); !errors.Is(err, ErrOther) || !errors.Is(err, ErrUnknownRelease) || errors.Is(err, ErrLost) {
		t.Errorf("somebody else's: %v, want that it is unknown", err)
	}
	must.Be(t, r.removed(reply, nil), ErrLost, "somebody else's at the first answer")
}
