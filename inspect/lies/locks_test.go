package lies

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// redisLies are replies to every request.
var redisLies = map[string]string{
	"largest string":   "$9223372036854775806\r\n",
	"100 GB":           "$100000000000\r\n",
	"two billion":      "*2000000000\r\n",
	"a large map":      "%2000000000\r\n",
	"lists in lists":   strings.Repeat("*1\r\n", 100_000),
	"a line of 100 KB": "+" + strings.Repeat("x", 100_000),
	"an attribute":     "|1\r\n",
}

// turning starts a server that lies only while lies is set.
func turning(t *testing.T, addr, lie string) (liar *servertest.Liar, lies *atomic.Bool) {
	lies = new(atomic.Bool)
	return servertest.StartLiar(t, addr, func(_ int, _ []byte, client io.Writer) bool {
		if !lies.Load() {
			return false
		}
		_, _ = io.WriteString(client, lie)
		return true
	}), lies
}

func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// One lying master out of three loses its vote, before the lock is acquired and while it is held.
func TestRedlockSurvivesALyingMaster(t *testing.T) {
	t.Parallel()
	for name, lie := range redisLies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second, third := servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedRedis(t)
			liar, lies := turning(t, third.Addr, lie)
			options := append(append(masters(first.Addr), masters(second.Addr)...), &redis.UniversalOptions{Addrs: []string{liar.Addr}})
			session := must.Have(lockops.NewRedisSession(within(t, time.Minute), options, lockops.WithUncheckedMasters()))(t)
			defer session.Close()
			lock := lockops.NewRedlock(session, "lock:r", lockops.WithTTL(6*time.Second), lockops.WithMasterLimit(3*time.Second))
			for _, before := range []bool{false, true} {
				lies.Store(before)
				hold, err := lock.Acquire(within(t, time.Minute))
				if err != nil {
					t.Fatalf("lies before: %v: %v", before, err)
				}
				lies.Store(true)
				select {
				case <-hold.Context().Done():
					t.Errorf("lies before: %v: lost: %v", before, context.Cause(hold.Context()))
				case <-time.After(6500 * time.Millisecond): // renewed in the meantime
				}
				must.Be(t, hold.Release(within(t, time.Minute)), nil, "lies before", before, "release")
				lies.Store(false)
			}
		})
	}
}

// A session with a single lying server gets only errors.
func TestLockOfALiarHasErrors(t *testing.T) {
	t.Parallel()
	for name, lie := range redisLies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			liar, lies := turning(t, servertest.StartEmbeddedRedis(t).Addr, lie)
			for _, options := range [][]*redis.UniversalOptions{masters(liar.Addr), {{Addrs: []string{liar.Addr}, Protocol: 3}}} {
				lies.Store(false)
				session := must.Have(lockops.NewRedisSession(within(t, time.Minute), options))(t)
				lies.Store(true)
				if _, err := lockops.NewRedisMutex(session, "lock:m").TryAcquire(within(t, 15*time.Second)); err == nil {
					t.Error("acquired")
				}
				session.Close()
				if _, err := lockops.NewRedisSession(within(t, 15*time.Second), options); err == nil || !strings.Contains(err.Error(), "out of bounds") {
					t.Errorf("a new session: %v", err)
				}
			}
		})
	}
}

// A lying ZooKeeper server causes errors, in the session or in its locks.
func TestLyingZooKeeperLocksFail(t *testing.T) {
	t.Parallel()
	good := startHonest(t)
	for name, tt := range map[string]struct {
		answer     servertest.Answer
		mayAcquire bool // without reading the lie
	}{
		"a timeout of zero":  {greets(0, 0, 0, 7, 0), false},
		"a password of 2 GB": {greets(0, 4000, 0, 7, 1<<31-1), false},
		"a frame of 2 GB":    {says("", string(words32(1<<31-1))), false},
		"no names at all":    {replies(append(words32(-1), make([]byte, 68)...), opGetChildren2, opGetChildren), false},
		"two billion names":  {replies(append(words32(1<<31-1), make([]byte, 68)...), opGetChildren2, opGetChildren), false},
		"a path beyond all":  {replies(words32(1<<31-1), 1, 15), false},
		"half of a change":   {replies(words32(14), 14), true}, // not every lock sends a transaction
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			liar := servertest.StartLiar(t, good.zk, tt.answer)
			session, err := lockops.NewZKSession(within(t, 8*time.Second), []string{liar.Addr})
			if err != nil {
				if !strings.Contains(err.Error(), "out of bounds") {
					t.Error(err)
				}
				return
			}
			defer session.Close()
			if hold, err := lockops.NewZKMutex(session, "/locks/"+strings.ReplaceAll(name, " ", "-")).Acquire(within(t, 8*time.Second)); err == nil {
				_ = hold.Release(within(t, 8*time.Second))
				must.True(t, tt.mayAcquire, "acquired")
			}
		})
	}
}
