package lockops_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// TestAReleaseTellsTheNext: the release itself wakes the waiter, not the next poll.
func TestAReleaseTellsTheNext(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s, other := redisSession(t, m), redisSession(t, m)
	for _, kind := range oneRedisKinds {
		t.Run(kind.name, func(t *testing.T) {
			key := servertest.UniqueName(t)
			heard := redisClient(t, m).PSubscribe(within(t), "lockscope:wake:@*")
			defer heard.Close()
			must.Have(heard.Receive(within(t)))(t)
			h := acquire(t, kind.make(s, key))
			name, got := queueUp(t, within(t), func(opts ...lockops.Option) lockops.Locker { return kind.make(other, key, opts...) })
			release(t, h)
			next := <-got
			must.Succeed(t, next.err)
			release(t, next.h)
			must.Contain(t, messagesOf(t, heard), name, "no message was for")
		})
	}
}

// messagesOf returns all messages published so far.
func messagesOf(t *testing.T, p *redis.PubSub) string {
	t.Helper()
	must.Succeed(t, p.Ping(within(t), "until now"))
	var all strings.Builder
	for {
		got := must.Have(p.Receive(within(t)))(t)
		switch m := got.(type) {
		case *redis.Message:
			all.WriteString(m.Payload + "\n")
		case *redis.Pong:
			return all.String()
		}
	}
}

// The key was set, the answer was lost, and the request that is to
// take it back does not get through: that is tried again, though no client waits for it any more, and when its
// session is closed.
func TestUnansweredAcquireIsUndoneLater(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	for _, kind := range oneRedisKinds {
		wire := servertest.StartWire(t, m.Addr)
		s := redisSession(t, &servertest.Redis{Addr: wire.Addr()})
		l := kind.make(s, "lock", lockops.WithMasterLimit(600*time.Millisecond), lockops.WithTTL(10*time.Minute))
		done := make(chan error, 1)
		try := func() {
			wire.Heal()
			release(t, acquire(t, l)) // connected, and the clock is known
			wire.Stop(servertest.ToClient)
			go func() { _, err := l.TryAcquire(context.Background()); done <- err }()
		}
		try()
		must.Become(t, "the key is set", func() bool {
			select {
			case <-done: // too late for the server, on a busy machine
				try()
			default:
			}
			return c.Exists(within(t), "lock").Val() == 1
		})
		wire.Refuse()
		if err := <-done; err == nil {
			t.Errorf("%s: granted without an answer", kind.name)
		}
		if c.Exists(within(t), "lock").Val() == 0 {
			t.Fatalf("%s: the key went though no request could get through", kind.name)
		}
		wire.Heal()
		s.Close() // behind all that it cleans up
		if c.Exists(within(t), "lock").Val() != 0 {
			t.Fatalf("%s: the key is left", kind.name)
		}
	}
}
