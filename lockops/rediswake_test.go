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

// A release notifies the next waiter, which then need not wait for its next poll.
func TestAReleaseNotifiesTheNextWaiter(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	s, other := redisSession(t, m), redisSession(t, m)
	for _, kind := range oneRedisKinds {
		t.Run(kind.Name, func(t *testing.T) {
			key := servertest.UniqueName(t)
			heard := redisClient(t, m).PSubscribe(within(t), "lockscope:wake:@*")
			defer heard.Close()
			must.Have(heard.Receive(within(t)))(t)
			h := acquire(t, lockOf(t, kind, s, key))
			name, got := queueUp(t, within(t), kindOn(t, kind, other, key))
			release(t, h)
			release(t, granted(t, got))
			must.Contain(t, messagesOf(t, heard), name, "messages")
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

// If the answer is lost and the clean-up cannot reach the server, the clean-up is retried in the
// background and by Close.
func TestUnansweredAcquireIsUndoneLater(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	exists := func() bool { return c.Exists(within(t), "lock").Val() == 1 }
	for _, kind := range oneRedisKinds {
		wire := servertest.StartWire(t, m.Addr)
		s := redisSession(t, &servertest.Redis{Addr: wire.Addr()})
		l := lockOf(t, kind, s, "lock", lockops.WithMasterLimit(600*time.Millisecond), lockops.WithTTL(10*time.Minute))
		done := make(chan error, 1)
		try := func() {
			wire.Heal()
			release(t, acquire(t, l)) // connects and learns the clock
			wire.Stop(servertest.ToClient)
			go func() { _, err := l.TryAcquire(context.Background()); done <- err }()
		}
		try()
		must.Become(t, "the key is set", func() bool {
			select {
			case <-done: // arrived too late, on a busy machine
				try()
			default:
			}
			return exists()
		})
		wire.Refuse()
		must.True(t, <-done != nil, kind.Name, "granted without an answer")
		must.True(t, exists(), kind.Name, "the key is gone although no request could get through")
		wire.Heal()
		s.Close() // waits for the clean-up
		must.True(t, !exists(), kind.Name, "the key was left behind")
	}
}
