package lockops_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// hangs is the longest that a call may take, even on a busy machine.
const hangs = 60 * time.Second

// On servers that hang, Extend ends with its context or with the hold.
func TestExtendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	for _, kind := range redisKinds {
		s := redisSession(t, masters[:kind.masters]...)
		const ttl = 2 * time.Second
		hold := func(ttl time.Duration) *lockops.Hold {
			long := lockops.WithMasterLimit(5 * time.Minute)
			return acquire(t, kind.make(s, servertest.UniqueName(t), lockops.WithTTL(ttl), long))
		}
		h, short, given := hold(10*time.Minute), hold(ttl), hold(10*time.Minute)
		for _, m := range masters {
			m.Pause(t)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		releaseSoon := func() {
			// ctx has ended, so the release goes on in the background.
			time.AfterFunc(100*time.Millisecond, func() { _ = given.Release(ctx) })
		}
		for _, c := range []struct {
			what string
			do   func() error
			want error
		}{
			{"with its context", func() error { return h.Extend(ctx) }, context.Canceled},
			{"with the hold", func() error { return short.Extend(t.Context()) }, lockops.ErrLost},
			{"with its release", func() error { releaseSoon(); return given.Extend(t.Context()) }, lockops.ErrReleased},
		} {
			ended := make(chan error, 1)
			go func() { ended <- c.do() }()
			select {
			case err := <-ended:
				must.Be(t, err, c.want, kind.name, "Extend ends", c.what)
			case <-time.After(hangs):
				t.Errorf("%s: Extend does not end %s", kind.name, c.what)
			}
		}
		for _, m := range masters {
			m.Resume(t)
		}
		release(t, h)
	}
}

// On a server that hangs, NewRedisSession ends with its context.
func TestConnectingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	m.Pause(t)
	defer m.Resume(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		o := &redis.UniversalOptions{Addrs: []string{m.Addr}, ReadTimeout: time.Hour}
		_, err := lockops.NewRedisSession(ctx, []*redis.UniversalOptions{o}, lockops.WithRequestLimit(time.Hour))
		ended <- err
	}()
	select {
	case err := <-ended:
		must.Be(t, err, context.DeadlineExceeded)
	case <-time.After(hangs):
		t.Error("NewRedisSession does not end")
	}
}
