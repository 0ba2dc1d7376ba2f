package bench

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops/act"
)

// realLock connects clients of a library. take waits for the lock; acquiring it changes the value
// under key.
type realLock struct {
	library, key string
	join         func(t *testing.T, m *servertest.Redis) (take func(ctx context.Context) error)
}

// lasting is longer than the test, so that only the release can free the lock.
const lasting = time.Hour

func realLocks() []realLock {
	return []realLock{
		{"redsync", "lock:redsync", func(t *testing.T, m *servertest.Redis) func(context.Context) error {
			var clients []*redis.Client
			mutex := newRedsync([]*servertest.Redis{m}, &clients).NewMutex("lock:redsync", redsync.WithExpiry(lasting), redsync.WithTries(1<<20), redsync.WithRetryDelay(5*time.Millisecond))
			t.Cleanup(func() { clients[0].Close() })
			return mutex.LockContext
		}},
		{"redislock", "lock:bsm", func(t *testing.T, m *servertest.Redis) func(context.Context) error {
			c := client(m)
			t.Cleanup(func() { c.Close() })
			return func(ctx context.Context) error {
				_, err := redislock.New(c).Obtain(ctx, "lock:bsm", lasting, &redislock.Options{RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)})
				return err
			}
		}},
		{"rueidislock", "rueidislock:0:a", func(t *testing.T, m *servertest.Redis) func(context.Context) error {
			l, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: rueidis.ClientOption{InitAddress: []string{m.Addr}}, KeyValidity: lasting})
			must.Succeed(t, err)
			t.Cleanup(l.Close)
			return func(ctx context.Context) error {
				_, _, err := l.WithContext(ctx, "a")
				return err
			}
		}},
	}
}

// Waiting clients of Go libraries get a lock after its holder is force-released. rueidislock is
// notified by the server (client-side caching); the other libraries retry.
func TestRealClientsTakeReleasedLocks(t *testing.T) {
	server := servertest.StartRedis(t)
	c := client(server)
	defer c.Close()
	audit := must.Have(act.OpenAudit(time.Now, filepath.Join(t.TempDir(), "audit.jsonl"), "test", "profile"))(t)
	defer audit.Close()
	releaser := act.NewRedis([]redis.UniversalClient{c}, act.Target{Name: "redis", Servers: []string{server.Addr}}, 30*time.Second, audit)
	for _, l := range realLocks() {
		t.Run(l.library, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			must.Succeed(t, l.join(t, server)(ctx))
			first := c.Get(ctx, l.key).Val()
			granted, asked := make(chan error, 1), asks(t, c)
			take := l.join(t, server)
			go func() { granted <- take(ctx) }()
			must.Become(t, "a client waits", func() bool { return asks(t, c) >= asked+2 })
			id := inspect.ID{Backend: "redis", Path: l.key}
			p, err := releaser.Preview(ctx, act.Request{ID: id, Owner: inspect.Untrusted(first)})
			if err != nil || p.Refused != "" {
				t.Fatalf("preview %+v, %v", p, err)
			}
			if r, err := releaser.Execute(ctx, p, "typed"); err != nil || !r.Released {
				t.Fatalf("release %+v, %v", r, err)
			}
			must.Succeed(t, <-granted)
			if now := c.Get(ctx, l.key).Val(); first == "" || now == first {
				t.Errorf("%q still holds it", now)
			}
		})
	}
}

// asks counts the server's calls of the commands that take locks.
func asks(t *testing.T, c *redis.Client) int {
	t.Helper()
	return calls(t, c, "set", "eval", "evalsha")
}
