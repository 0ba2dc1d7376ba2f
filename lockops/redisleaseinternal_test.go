package lockops

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
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
				at, ok := h.Deadline()
				must.True(t, !ok || !time.Now().Before(at), "suspended for the TTL, the hold lasts for another", time.Until(at))
				Await(t, "the loss is reported", h.Context().Done())
				ranOut(t, context.Cause(h.Context()))
				_ = h.Release(t.Context()) // the clocks of these servers did not advance
				suspend(24 * time.Hour)
				h = must.Have(l.Acquire(t.Context()))(t)
				at, ok = h.Deadline() // in a heartbeat, for a fair lock handed over
				must.True(t, ok && time.Now().Before(at), "acquired after the suspension, the hold lasts for", time.Until(at), ok)
			})
		})
	}
}

// A hold may be released after the machine wakes but before the session notices the suspension.
func TestReleaseAfterExpiryReportsLoss(t *testing.T) {
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
	eachSleeper(t, func(t *testing.T, suspend func(time.Duration), lock func(...Option) Locker) {
		renewed := make(chan time.Time, 1)
		h := must.Have(lock(WithTTL(time.Hour), OnRenew(func(until time.Time) { renewed <- until })).Acquire(t.Context()))(t)
		suspend(50 * time.Minute)
		until := Await(t, "a renewal", renewed)
		must.True(t, time.Until(until) >= 59*time.Minute, "renewed for less than nearly an hour")
		must.Be(t, h.Release(t.Context()), nil)
	})
}

// The machine is suspended past the deadline while the extension is under way.
func TestSuspensionDuringExtendIsReported(t *testing.T) {
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
	err := r.removed(reply, context.DeadlineExceeded)
	must.Be(t, err, ErrOther, "another client's key")
	must.True(t, errors.Is(err, ErrUnknownRelease) && !errors.Is(err, ErrLost), "another client's key", err)
	must.Be(t, r.removed(reply, nil), ErrLost, "another client's key at the first answer")
}

// eachSleeper runs a test with each kind of lock on Redis, on a machine that can be suspended.
func eachSleeper(t *testing.T, f func(t *testing.T, suspend func(time.Duration), lock func(...Option) Locker)) {
	t.Parallel()
	for _, kind := range append(KindsOn(OnRedis), KindsOn(OnRedisMasters)...) {
		t.Run(kind.Name, func(t *testing.T) {
			s := embeddedMasters(t, map[Servers]int{OnRedis: 1, OnRedisMasters: 3}[kind.On])
			f(t, sleeper(s), func(opts ...Option) Locker {
				return must.Have(kind.New(s, "lock", append(opts, WithMasterLimit(time.Minute))...))(t)
			})
		})
	}
}

var errRefusedDial = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// failing makes a client's next requests fail: with errRefusedDial before they are sent, with other
// errors after they were executed.
type failing struct {
	servertest.Hook
	errs []error
	then func() // runs before the first request that does not fail
}

func (f *failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if len(f.errs) == 0 {
			if f.then != nil {
				f.then()
				f.then = nil
			}
			return next(ctx, cmd)
		}
		err := f.errs[0]
		f.errs = f.errs[1:]
		if !errors.Is(err, errRefusedDial) {
			_ = next(ctx, cmd)
		}
		return err
	}
}

// An unsent release whose key is gone means that the lock was lost. The exception is an earlier
// request that may have deleted the key.
func TestUnsentReleaseReportsLoss(t *testing.T) {
	t.Parallel()
	lost := context.DeadlineExceeded
	for name, tt := range map[string]struct {
		errs  []error
		other bool // another client has the key by then
		want  error
	}{
		"not sent":                       {[]error{errRefusedDial}, false, ErrLost},
		"not sent twice":                 {[]error{errRefusedDial, errRefusedDial}, false, ErrLost},
		"not sent, another client's":     {[]error{errRefusedDial}, true, ErrLost},
		"sent":                           {[]error{lost}, false, nil},
		"sent, then not sent":            {[]error{lost, errRefusedDial}, false, nil},
		"not sent, then sent":            {[]error{errRefusedDial, lost}, false, nil},
		"sent, not sent, another client": {[]error{lost, errRefusedDial}, true, ErrUnknownRelease},
	} {
		t.Run(name, func(t *testing.T) {
			s := embeddedMasters(t, 1)
			other := otherClient(t, s)
			h := must.Have(NewRedisMutex(s, "lock", WithTTL(time.Hour), WithoutRenewal()).Acquire(t.Context()))(t)
			s.masters[0].client.AddHook(&failing{errs: tt.errs, then: func() {
				must.Be(t, other.FlushAll(context.Background()).Err(), nil)
				if tt.other {
					must.Be(t, other.Set(context.Background(), "lock", "another", 0).Err(), nil)
				}
			}})
			must.Be(t, h.Release(t.Context()), tt.want)
		})
	}
}

// A key that is gone after its TTL may have been ours until it expired.
func TestLateReleaseIsNotALoss(t *testing.T) {
	t.Parallel()
	s := newRedisSession(nil)
	defer s.Close()
	now := s.clock.now()
	r := &redisGrant{k: &redisKey{session: s, master: &master{}}}
	for _, tt := range []struct {
		until time.Time
		gone  error // result for a missing key
		other error
	}{{now.Add(time.Hour), ErrLost, ErrLost}, {now.Add(-time.Second), nil, ErrUnknownRelease}} {
		r.lease = newLease(s, nil, &options{}, nil, now, tt.until)
		must.Be(t, r.removed(ErrGone, errRefusedDial), tt.gone, "missing key")
		must.Be(t, r.removed(ErrOther, errRefusedDial), tt.other, "another client's key")
	}
}

// A refused connection proves that a request was not sent, except on a Cluster, where the error may
// come from a second try.
func TestUnsentRequestsAreRecognised(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.Close()
	s := newRedisSession(nil)
	defer s.Close()
	m := &master{name: server.Addr, session: s}
	m.client = dialClient(&redis.UniversalOptions{Addrs: []string{server.Addr}}, time.Second, &m.dials)
	defer m.client.Close()
	err := m.compare(t.Context(), releaseScript, []string{"lock"}, time.Second, "value")
	must.True(t, err != nil && m.unsent(err), "refused connection", err, "want unsent")
	m.cluster = true
	must.True(t, !m.unsent(err), "Cluster", err, "counts as unsent")
	m.cluster = false
	for _, err := range []error{nil, context.DeadlineExceeded, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, ErrGone} {
		must.True(t, !m.unsent(err), err, "counts as unsent")
	}
}

// A late acquire request may be executed after the key is gone, so its key must be removed too.
func TestLateKeyIsRemovedAfterLoss(t *testing.T) {
	t.Parallel()
	s := embeddedMasters(t, 1)
	other := otherClient(t, s)
	h := must.Have(NewRedisMutex(s, "lock").Acquire(t.Context()))(t)
	h.grant.backend.(*redisGrant).lateUntil = s.clock.now().Add(5 * time.Second)
	must.Succeed(t, other.Del(t.Context(), "lock").Err())
	must.Be(t, h.Release(t.Context()), ErrLost)
	must.Succeed(t, other.Set(t.Context(), "lock", h.Name(), 0).Err())
	s.Close()
	must.Equal(t, other.Exists(t.Context(), "lock").Val(), 0, "late keys left")
}

// A removal that fails is tried again, and for the last time when the session closes.
func TestRemovalsAreRepeated(t *testing.T) {
	t.Parallel()
	s, n := newRedisSession(nil), 0
	s.removeLater(time.Time{}, time.Microsecond, func() error { n++; return errLate })
	must.Equal(t, n, removeAttempts, "attempts")
	s.Close()
	s.removeLater(time.Time{}, time.Hour, func() error { n++; return errLate })
	must.Equal(t, n, removeAttempts+2, "attempts in all, after Close")
}

// proxied simulates a proxy that answers a script with an error, while the server runs that script
// after the next one.
type proxied struct {
	servertest.Hook
	server redis.UniversalClient
	text   saidByProxy
	held   []any // the delayed request, if any
	ran    chan string
}

type saidByProxy string

func (e saidByProxy) Error() string { return string(e) }
func (saidByProxy) RedisError()     {}

func (p *proxied) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if p.text != "" && cmd.Name() == "evalsha" {
			p.held = cmd.Args()
			cmd.SetErr(p.text)
			p.text = ""
			return cmd.Err()
		}
		err := next(ctx, cmd)
		if p.held != nil && err == nil && (cmd.Name() == "evalsha" || cmd.Name() == "eval") {
			reply, _ := p.server.Do(context.Background(), p.held...).Text()
			p.held = nil
			p.ran <- reply
		}
		return err
	}
}

// A request that the proxy delayed may still acquire the lock after the first clean-up, so the
// clean-up must continue.
func TestCleanupOutlastsProxyErrors(t *testing.T) {
	t.Parallel()
	late := WithMasterLimit(8 * time.Second) // accepts the delayed request even on a busy machine
	for _, text := range []saidByProxy{"ERR Connection timed out", "upstream failure"} {
		for _, kind := range append(KindsOn(OnRedis), KindsOn(OnRedisMasters)...) {
			t.Run(kind.Name+" "+string(text), func(t *testing.T) {
				t.Parallel()
				s := embeddedMasters(t, 1)
				server := otherClient(t, s)
				for _, script := range []*script{acquireScript, fairAcquireScript} {
					must.Succeed(t, server.ScriptLoad(t.Context(), script.source).Err())
				}
				proxy := &proxied{server: server, text: text, ran: make(chan string, 1)}
				s.masters[0].client.AddHook(proxy)
				_, err := must.Have(kind.New(s, "lock:a", late))(t).TryAcquire(t.Context())
				must.True(t, err != nil, "TryAcquire succeeded")
				reply := Await(t, "the clean-up", proxy.ran)
				must.True(t, strings.HasPrefix(reply, "1 "), "the delayed request was not granted:", reply)
				s.Close()
				must.Equal(t, server.Exists(t.Context(), "lock:a").Val(), 0, "keys left")
			})
		}
	}
}
