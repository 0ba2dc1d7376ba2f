package lockops_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// eachKind runs f with a lock of each kind on embedded servers; name is free on all of them.
func eachKind(t *testing.T, f func(t *testing.T, k lockops.Kind, lock func(...lockops.Option) lockops.Locker)) {
	sessions := map[lockops.Servers]lockops.Session{
		lockops.OnZooKeeper: zkSession(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}).Addr),
		lockops.OnRedis:     redisSession(t, servertest.StartEmbeddedRedis(t)),
		lockops.OnRedisMasters: redisSession(t, servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t),
			servertest.StartEmbeddedRedis(t)),
	}
	for _, k := range lockops.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			name := servertest.UniquePath(t)
			f(t, k, func(opts ...lockops.Option) lockops.Locker {
				if k.On != lockops.OnZooKeeper {
					opts = append(opts, patient)
				}
				return must.Have(k.New(sessions[k.On], name, opts...))(t)
			})
		})
	}
}

// TestReentryIsAsked: without WithReentry, a context that comes from a hold of the lock fails at once, since it could
// only wait for itself; goroutines of an errgroup do not slip in together.
func TestReentryIsAsked(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, _ lockops.Kind, lock func(...lockops.Option) lockops.Locker) {
		l := lock()
		outer := acquire(t, l)
		for name, take := range map[string]func(context.Context) (*lockops.Hold, error){"Acquire": l.Acquire, "TryAcquire": l.TryAcquire} {
			if h, err := take(outer.Context()); !errors.Is(err, lockops.ErrReentry) {
				t.Errorf("%s with the hold's context: %v, %v; want ErrReentry", name, h, err)
			}
		}
		inner := must.Have(lock(lockops.WithReentry()).Acquire(outer.Context()))(t)
		release(t, outer)
		must.True(t, inner.Context().Err() == nil, "the inner hold ended with the outer one")
		release(t, inner)
		again, err := l.Acquire(context.WithoutCancel(outer.Context())) // the holds are over: anybody may have this
		must.Succeed(t, err)
		release(t, again)
	})
}

// TestTimedOutSaysHeld for every kind, whether the wait was on the servers or in the session.
func TestTimedOutSaysHeld(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, k lockops.Kind, lock func(...lockops.Option) lockops.Locker) {
		if k.Shared {
			return // several hold it
		}
		for range max(1, k.Permits) {
			defer release(t, acquire(t, lock()))
		}
		waiter := lock()
		for range 2 {
			var err error
			for wait := time.Second; !errors.Is(err, lockops.ErrHeld) && wait < time.Minute; wait *= 3 { // to hear of the holder
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				_, err = waiter.Acquire(ctx)
				cancel()
			}
			if !errors.Is(err, lockops.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want DeadlineExceeded and ErrHeld", err)
			}
		}
	})
}

// TestCheckFindsWhatCannotWork before a server is asked.
func TestCheckFindsWhatCannotWork(t *testing.T) {
	t.Parallel()
	z := zkSession(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}).Addr)
	masters := []*servertest.Redis{servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t)}
	one, two := redisSession(t, masters[0]), redisSession(t, masters...)
	for name, tt := range map[string]struct {
		lock lockops.Locker
		want error
	}{
		"fine":         {lockops.NewZKMutex(z, "/l"), nil},
		"path":         {lockops.NewZKMutex(z, "l"), lockops.ErrOption},
		"recipe":       {lockops.NewZKRWMutex(z, "/l", lockops.WithRecipe("x")).Read(), lockops.ErrOption},
		"permits":      {lockops.NewZKSemaphore(z, "/l", 0), lockops.ErrOption},
		"key":          {lockops.NewRedisMutex(one, ""), lockops.ErrOption},
		"TTL":          {lockops.NewRedisFairMutex(one, "k", lockops.WithTTL(20*time.Millisecond)), lockops.ErrOption},
		"two masters":  {lockops.NewRedisMutex(two, "k"), lockops.ErrMasters},
		"even masters": {lockops.NewRedlock(two, "k"), lockops.ErrMasters},
	} {
		must.Be(t, lockops.Check(tt.lock), tt.want, name)
		if _, err := tt.lock.TryAcquire(within(t)); tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s, acquired: %v, want %v", name, err, tt.want)
		}
	}
}

func TestUnsupportedOptionsAreErrors(t *testing.T) {
	t.Parallel()
	zkOnly := map[string]lockops.Option{"WithRecipe": lockops.WithRecipe("curator"), "WithPrefix": lockops.WithPrefix("n-")}
	redisOnly := map[string]lockops.Option{
		"WithTTL": lockops.WithTTL(time.Second), "WithoutRenewal": lockops.WithoutRenewal(),
		"WithMasterLimit": lockops.WithMasterLimit(time.Second), "OnRenew": lockops.OnRenew(func(time.Time) {}),
	}
	eachKind(t, func(t *testing.T, k lockops.Kind, lock func(...lockops.Option) lockops.Locker) {
		wrong := zkOnly
		if k.On == lockops.OnZooKeeper {
			wrong = redisOnly
		}
		for name, option := range wrong {
			h, err := lock(option).TryAcquire(within(t))
			if !errors.Is(err, lockops.ErrOption) || !contains(err, name) {
				t.Errorf("%s: %v, want ErrOption that names it", name, err)
			}
			if h != nil {
				release(t, h)
			}
		}
		release(t, acquire(t, lock(lockops.WithLabel("me"), lockops.OnWaiting(func(string) {}))))
	})
}

// TestWithEndsWithEither: the hold or the caller's context, with the cause of the one that ended.
func TestWithEndsWithEither(t *testing.T) {
	t.Parallel()
	type key struct{}
	eachKind(t, func(t *testing.T, _ lockops.Kind, lock func(...lockops.Option) lockops.Locker) {
		l := lock(lockops.WithReentry())
		h := acquire(t, l)
		cause := errors.New("the caller's cause")
		caller, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "the caller's"))
		ctx, cancel := h.With(caller)
		defer cancel()
		must.Equal(t, ctx.Value(key{}), "the caller's", "value")
		inner := must.Have(l.Acquire(ctx))(t)
		release(t, inner)
		end(cause)
		<-ctx.Done()
		must.Equal(t, context.Cause(ctx), cause, "ended with the caller: cause")
		must.True(t, h.Context().Err() == nil, "the caller's end ended the hold")
		later, stop := context.WithCancel(context.WithoutCancel(h.Context()))
		defer stop()
		ctx, cancel = h.With(later)
		defer cancel()
		release(t, h)
		<-ctx.Done()
		must.Be(t, context.Cause(ctx), lockops.ErrReleased, "ended with the hold: cause")
	})
}

// Do also releases the lock whatever happens inside, and returns a loss.
func TestDoHoldsLockWhileRunning(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, k lockops.Kind, lock func(...lockops.Option) lockops.Locker) {
		l, inside := lock(), errors.New("inside")
		err := lockops.Do(within(t), l, func(ctx context.Context) error {
			if second, err := l.TryAcquire(within(t)); (k.Shared || k.Permits > 1) && err == nil {
				release(t, second)
			} else if !errors.Is(err, lockops.ErrHeld) {
				t.Errorf("beside it: %v, want ErrHeld", err)
			}
			if _, err := l.TryAcquire(ctx); !errors.Is(err, lockops.ErrReentry) {
				t.Errorf("inside of it: %v, want ErrReentry", err)
			}
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
		if err := lockops.Do(ended, l, func(context.Context) error { ran = true; return nil }); !errors.Is(err, context.Canceled) || ran {
			t.Errorf("with a context that has ended: %v, ran %v", err, ran)
		}
		release(t, h)
		ctx, cancel := context.WithCancel(within(t))
		err = lockops.Do(ctx, l, func(inside context.Context) error {
			cancel() // the caller gives up: fn's context ends, and the lock is given back all the same
			<-inside.Done()
			return inside.Err()
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, lockops.ErrLost) {
			t.Errorf("cancelled inside: %v", err)
		}
		release(t, acquire(t, l))
	})
}

// TestEachHoldIsReleasedOnce, also when it re-entered.
func TestEachHoldIsReleasedOnce(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, _ lockops.Kind, lock func(...lockops.Option) lockops.Locker) {
		l := lock(lockops.WithReentry())
		outer := acquire(t, l)
		inner := must.Have(l.Acquire(outer.Context()))(t)
		release(t, inner)
		must.Be(t, inner.Release(within(t)), lockops.ErrNotHeld, "the second release")
		must.Be(t, inner.Extend(within(t)), lockops.ErrNotHeld, "extend after the release")
		must.True(t, outer.Context().Err() == nil, "the second release freed the lock")
		release(t, outer)
	})
}
