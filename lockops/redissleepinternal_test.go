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

// The servers' clocks go on while the machine is suspended, so the hold ends soon after it wakes.
// Later holds last for their full TTL.
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
						t.Errorf("a suspension of 20 minutes moved the deadline by %v (%v)", before.Sub(at), ok)
					}
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
				if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLost) || !errors.Is(cause, errRanOut) {
					t.Errorf("cause %v, want ErrLost and errRanOut", cause)
				}
				_ = h.Release(t.Context()) // the clocks of these servers did not advance
				suspend(24 * time.Hour)
				if h, err = l.Acquire(t.Context()); err != nil {
					t.Fatalf("acquire after the suspension: %v", err)
				}
				if at, ok := h.Deadline(); !ok || !time.Now().Before(at) { // a heartbeat, for a fair lock handed over
					t.Errorf("acquired after the suspension, the hold lasts for %v (%v)", time.Until(at), ok)
				}
			})
		}
	}
}

// A hold may be released after the machine wakes but before the session notices the suspension.
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
				t.Errorf("%v, want ErrLost and errRanOut", err)
			}
			// The clocks of these servers did not advance, so the release must have removed the key.
			if _, err := l.Acquire(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The hold has 10 minutes left when the machine wakes, but its renewal timer has 20, so it must be
// renewed at once.
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
	if err := l.extend(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, errRanOut) {
		t.Errorf("%v, want ErrLost", err)
	}
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
