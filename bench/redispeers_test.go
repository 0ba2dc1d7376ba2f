package bench

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// contender takes a lock repeatedly; taking it returns the function that releases it.
type contender interface {
	acquire(ctx context.Context) (release func() error, err error)
	close()
}

// peer is a lock package: join connects one contender, on its own connections.
type peer struct {
	name string
	join func(b *testing.B, masters []*servertest.Redis, key string) contender
}

type funcs struct {
	get func(ctx context.Context) (func() error, error)
	end func()
}

func (f funcs) acquire(ctx context.Context) (func() error, error) { return f.get(ctx) }

func (f funcs) close() { f.end() }

func client(m *servertest.Redis) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: m.Addr, ContextTimeoutEnabled: true})
}

func newSession(b *testing.B, masters []*servertest.Redis) *lockops.RedisSession {
	var options []*redis.UniversalOptions
	for _, m := range masters {
		options = append(options, &redis.UniversalOptions{Addrs: []string{m.Addr}})
	}
	return must.Have(lockops.NewRedisSession(b.Context(), options))(b)
}

// ours is a lock of package lockops.
func ours[L lockops.Locker](name string, lock func(*lockops.RedisSession, string, ...lockops.Option) L) peer {
	return peer{name, func(b *testing.B, masters []*servertest.Redis, key string) contender {
		s := newSession(b, masters)
		l := lock(s, key, lockops.WithTTL(lockTTL))
		return funcs{func(ctx context.Context) (func() error, error) {
			h, err := l.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			return func() error { return h.Release(context.Background()) }, nil
		}, s.Close}
	}}
}

func bsmLock() peer {
	return peer{"redislock", func(b *testing.B, masters []*servertest.Redis, key string) contender {
		c := client(masters[0])
		locks := redislock.New(c)
		return funcs{func(ctx context.Context) (func() error, error) {
			l, err := locks.Obtain(ctx, key, lockTTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
			if err != nil {
				return nil, err
			}
			return func() error { return l.Release(context.Background()) }, nil
		}, func() { c.Close() }}
	}}
}

func redsyncLock(name string, opts ...redsync.Option) peer {
	return peer{name, func(b *testing.B, masters []*servertest.Redis, key string) contender {
		var clients []*redis.Client
		rs := newRedsync(masters, &clients)
		return funcs{func(ctx context.Context) (func() error, error) {
			m := rs.NewMutex(key, append([]redsync.Option{redsync.WithExpiry(lockTTL), redsync.WithTries(1 << 20)}, opts...)...)
			if err := m.LockContext(ctx); err != nil {
				return nil, err
			}
			return func() error { _, err := m.UnlockContext(context.Background()); return err }, nil
		}, func() {
			for _, c := range clients {
				c.Close()
			}
		}}
	}}
}

func rueidisLock() peer {
	return peer{"rueidislock", func(b *testing.B, masters []*servertest.Redis, key string) contender {
		l, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: []string{masters[0].Addr}}, KeyMajority: 1, KeyValidity: lockTTL,
		})
		must.Succeed(b, err)
		return funcs{func(ctx context.Context) (func() error, error) {
			_, cancel, err := l.WithContext(ctx, key)
			if err != nil {
				return nil, err
			}
			return func() error { cancel(); return nil }, nil
		}, l.Close}
	}}
}

// bareHandOff is the least that a fair lock in Redis needs: the releasing script gives the key to the first waiter and
// notifies it. Nothing is done about cancellation, lost messages, dead waiters or holders.
func bareHandOff() peer {
	return peer{"bare-hand-off", func(b *testing.B, masters []*servertest.Redis, key string) contender {
		c := client(masters[0])
		me := "c" + strconv.FormatInt(handNumber.Add(1), 10)
		sub := c.Subscribe(b.Context(), me)
		must.Have(sub.Receive(b.Context()))(b)
		messages := sub.Channel()
		keys := []string{key, key + ":queue"}
		return funcs{func(ctx context.Context) (func() error, error) {
			n, err := handAcquire.Run(ctx, c, keys, me).Int()
			if err != nil {
				return nil, err
			}
			if n == 0 {
				select {
				case <-messages:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return func() error { return handRelease.Run(context.Background(), c, keys, me).Err() }, nil
		}, func() { sub.Close(); c.Close() }}
	}}
}
