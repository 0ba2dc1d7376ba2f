package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// eachKind runs f with an unused lock of each kind on embedded servers.
func eachKind(t *testing.T, f func(t *testing.T, k lockops.Kind, lock maker)) {
	t.Parallel()
	sessions := eachServers(t)
	for _, k := range lockops.Kinds() {
		t.Run(k.Name, func(t *testing.T) { f(t, k, kindMaker(t, k, sessions[k.On], servertest.UniquePath(t))) })
	}
}

// Without WithReentry, Acquire with a hold's context fails at once, since the caller would wait for
// itself. It also keeps goroutines that share the context from all entering.
func TestReentryMustBeRequested(t *testing.T) {
	eachKind(t, func(t *testing.T, _ lockops.Kind, lock maker) {
		l := lock()
		outer := acquire(t, l)
		_, err := l.TryAcquire(outer.Context())
		must.Be(t, err, lockops.ErrReentry, "TryAcquire with the hold's context")
		must.Be(t, (<-begin(outer.Context(), l)).err, lockops.ErrReentry, "Acquire with the hold's context")
		inner := must.Have(lock(lockops.WithReentry()).Acquire(outer.Context()))(t)
		release(t, outer)
		must.Be(t, inner.Context().Err(), nil, "inner hold after the release of the outer one")
		release(t, inner)
		release(t, must.Have(l.Acquire(context.WithoutCancel(outer.Context())))(t)) // both holds are released
	})
}

// A wait that times out returns ErrHeld, whether it waited on the servers or in the session.
func TestTimeoutReturnsErrHeld(t *testing.T) {
	eachKind(t, func(t *testing.T, k lockops.Kind, lock maker) {
		if k.Shared {
			return // readers do not exclude each other
		}
		for range max(1, k.Permits) {
			defer release(t, acquire(t, lock()))
		}
		waiter := lock()
		for range 2 {
			var err error
			// The first waits may be too short to learn of the holder.
			for wait := time.Second; !errors.Is(err, lockops.ErrHeld) && wait < time.Minute; wait *= 3 {
				ctx := limited(t, wait)
				_, err = waiter.Acquire(ctx)
			}
			isAll(t, err, lockops.ErrHeld, context.DeadlineExceeded)
		}
	})
}

func TestUnsupportedOptionsAreErrors(t *testing.T) {
	zkOnly := []lockops.Option{lockops.WithRecipe("curator"), lockops.WithPrefix("n-")}
	ttl, limit := lockops.WithTTL(time.Second), lockops.WithMasterLimit(time.Second)
	redisOnly := []lockops.Option{ttl, limit, lockops.WithoutRenewal(), lockops.OnRenew(nil)}
	eachKind(t, func(t *testing.T, k lockops.Kind, lock maker) {
		wrong := zkOnly
		if k.On == lockops.OnZooKeeper {
			wrong = redisOnly
		}
		for i, option := range wrong {
			refused(t, lock(option), lockops.ErrOption, "option", i)
		}
		release(t, acquire(t, lock(lockops.WithLabel("me"), lockops.OnWaiting(func(string) {}))))
	})
}

// The context of With ends with the hold or the caller's context, and has the cause of the one that
// ended.
func TestWithEndsWithEither(t *testing.T) {
	type key struct{}
	eachKind(t, func(t *testing.T, _ lockops.Kind, lock maker) {
		l := lock(lockops.WithReentry())
		h := acquire(t, l)
		cause := errors.New("the caller's cause")
		caller, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "the caller's"))
		ctx, cancel := h.With(caller)
		defer cancel()
		must.Equal(t, ctx.Value(key{}), "the caller's", "value")
		release(t, must.Have(l.Acquire(ctx))(t))
		end(cause)
		<-ctx.Done()
		must.Equal(t, context.Cause(ctx), cause, "cause after the caller's context ended")
		must.Be(t, h.Context().Err(), nil, "the hold after the end of the caller's context")
		ctx, cancel = h.With(t.Context())
		cancel()
		must.Be(t, context.Cause(ctx), context.Canceled, "cause after cancel")
		later, stop := context.WithCancel(context.WithoutCancel(h.Context()))
		defer stop()
		ctx, cancel = h.With(later)
		defer cancel()
		release(t, h)
		<-ctx.Done()
		must.Be(t, context.Cause(ctx), lockops.ErrReleased, "cause after the release")
	})
}

// Do also releases the lock when the function fails, panics or is cancelled.
func TestDoHoldsLockWhileRunning(t *testing.T) {
	eachKind(t, func(t *testing.T, k lockops.Kind, lock maker) {
		l, inside := lock(), errors.New("inside")
		err := lockops.Do(within(t), l, func(ctx context.Context) error {
			second, err := l.TryAcquire(within(t))
			must.True(t, err != nil || k.Shared || k.Permits > 1, "two holders at once")
			releaseUnless(t, second, err, lockops.ErrHeld)
			_, err = l.TryAcquire(ctx)
			must.Be(t, err, lockops.ErrReentry, "TryAcquire with the hold's context")
			return inside
		})
		must.Be(t, err, inside)
		func() {
			defer func() { _ = recover() }()
			_ = lockops.Do(within(t), l, func(context.Context) error { panic("inside") })
		}()
		h := must.Have(l.TryAcquire(within(t)))(t)
		ended, cancel := context.WithCancel(within(t))
		cancel()
		ran := false
		err = lockops.Do(ended, l, func(context.Context) error { ran = true; return nil })
		must.True(t, errors.Is(err, context.Canceled) && !ran, "with an ended context:", err, "ran:", ran)
		release(t, h)
		ctx, cancel := context.WithCancel(within(t))
		err = lockops.Do(ctx, l, func(inside context.Context) error {
			cancel() // ends fn's context; the lock is still released
			<-inside.Done()
			return inside.Err()
		})
		must.True(t, errors.Is(err, context.Canceled) && !errors.Is(err, lockops.ErrLost), "cancelled inside", err)
		release(t, acquire(t, l))
	})
}

// A second release of a re-entered hold fails and does not free the outer one.
func TestEachHoldIsReleasedOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, _ lockops.Kind, lock maker) {
		l := lock(lockops.WithReentry())
		outer := acquire(t, l)
		inner := must.Have(l.Acquire(outer.Context()))(t)
		release(t, inner)
		must.Be(t, inner.Release(within(t)), lockops.ErrNotHeld, "the second release")
		must.Be(t, inner.Extend(within(t)), lockops.ErrNotHeld, "extend after the release")
		must.Be(t, outer.Context().Err(), nil, "the outer hold after the second release")
		release(t, outer)
	})
}

// eachServers returns a session on embedded servers of each kind.
func eachServers(t *testing.T) map[lockops.Servers]lockops.Session {
	t.Helper()
	return map[lockops.Servers]lockops.Session{
		lockops.OnZooKeeper:    zkSession(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}).Addr),
		lockops.OnRedis:        redisSession(t, servertest.StartEmbeddedRedis(t)),
		lockops.OnRedisMasters: redisSession(t, servertest.StartEmbeddedMasters(t, 3)...),
	}
}

// Each kind can be acquired, its session counts the requests, and other servers are refused.
func TestEveryKindCanBeHeld(t *testing.T) {
	t.Parallel()
	right := eachServers(t)
	zookeeper, one := right[lockops.OnZooKeeper], right[lockops.OnRedis]
	wrong := map[lockops.Servers]lockops.Session{lockops.OnZooKeeper: one, lockops.OnRedis: zookeeper, lockops.OnRedisMasters: zookeeper}
	for _, k := range lockops.Kinds() {
		before := right[k.On].Requests()
		release(t, acquire(t, lockOf(t, k, right[k.On], "/kinds", lockops.WithLabel("me"))))
		sent := right[k.On].Requests() - before
		must.True(t, sent >= 2 && sent <= 30, k.Name, "on", k.On, sent, "requests, want 2 to 30")
		_, err := k.New(wrong[k.On], "/kinds")
		must.True(t, err != nil, k.Name, "was created on the wrong servers")
		must.True(t, k.Permits >= 1, k.Name, "has no permits")
	}
	for on, s := range right {
		h := acquire(t, lockOf(t, lockops.KindsOn(on)[0], s, "/closed"))
		s.Close()
		isAll(t, context.Cause(h.Context()), lockops.ErrLost, lockops.ErrClosed)
	}
}

// A fake's hold does what its maker says.
func TestCustomHoldsFollowTheirMaker(t *testing.T) {
	t.Parallel()
	reason, until := errors.New("the maker's"), time.Now().Add(time.Hour)
	fail := func(context.Context) error { return reason }
	made := lockops.Custom{Name: "n", Token: 7, Release: fail, Extend: fail, Until: func() time.Time { return until }}
	h, lose := lockops.NewHold(t.Context(), "l", made)
	token, ok := h.Token()
	at, _ := h.Deadline()
	must.Equal(t, fmt.Sprint(h.Name(), token, ok), "n7 true", "name and token")
	must.Equal(t, at, until, "deadline")
	must.Be(t, h.Extend(within(t)), reason)
	lose(reason)
	isAll(t, context.Cause(h.Context()), lockops.ErrLost, reason)
	h, _ = lockops.NewHold(t.Context(), "l", lockops.Custom{Release: fail})
	_, ok = h.Token()
	_, dated := h.Deadline()
	must.True(t, !ok && !dated, "a token or a deadline that was not given")
	must.Be(t, h.Extend(within(t)), nil)
	must.Be(t, h.Release(within(t)), reason)
}

// OnAsked reports arrival times by the master's clock, even if the lock is granted in another
// order.
func TestOnAskedReportsArrivalOrder(t *testing.T) {
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis, key string) {
		var asked []time.Time
		note := lockops.OnAsked(func(at time.Time) { asked = append(asked, at) })
		for range 3 {
			l := lockops.NewRedisMutex(redisSession(t, masters[0]), key, note)
			if h, err := l.TryAcquire(within(t)); err == nil {
				defer release(t, h)
			}
		}
		must.True(t, len(asked) == 3 && slices.IsSortedFunc(asked, time.Time.Compare), "not in order", asked)
		must.True(t, time.Since(asked[0]).Abs() < time.Minute, "not recent", asked)
	})
}
