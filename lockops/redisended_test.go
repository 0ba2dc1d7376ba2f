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

// hangs is a wait that does not end, on the busiest machine.
const hangs = 60 * time.Second

// TestExtendEndsWithItsContext on servers that hang, and with the hold.
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
			time.AfterFunc(100*time.Millisecond, func() { _ = given.Release(ctx) }) // ctx has ended: it goes on in the background
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
				must.Be(t, err, c.want, kind.name, "it ends", c.what, "by")
			case <-time.After(hangs):
				t.Errorf("%s: it does not end %s", kind.name, c.what)
			}
		}
		for _, m := range masters {
			m.Resume(t)
		}
		release(t, h)
	}
}

// TestConnectingEndsWithItsContext on a server that hangs.
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
		t.Error("it does not end")
	}
}
