package lockops_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// Locks work for a user who may not name connections, publish, subscribe or use the set of waiters,
// even behind a dead waiter. A waiter that cannot be notified polls.
func TestLocksWorkDespiteHarmlessDenials(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	for i, denied := range [][]string{
		{"resetchannels", "-client|setname", "-publish"},
		{"-subscribe"},
		{"-zadd"},
		{"-zrange"},
		{"-zrem"},
		{"-@sortedset"},
	} {
		t.Run(strings.Join(denied, ""), func(t *testing.T) {
			asUser(t, m, append([]string{"~*", "&*", "+@all"}, denied...)...)
			key := fmt.Sprint("lock", i)
			h := acquire(t, lockops.NewRedisMutex(userSession(t, m), key))
			dead := redis.Z{Score: 1, Member: "lockscope:deadsession0123456789:"}
			must.Succeed(t, redisClient(t, m).ZAdd(within(t), "lockscope:wait:{"+key+"}", dead).Err())
			_, got := queueUp(t, within(t), kindOn(t, redisKind("mutex"), userSession(t, m), key))
			release(t, h)
			release(t, granted(t, got))
		})
	}
	asUser(t, m, "~*", "resetchannels", "+@all", "-client|setname", "-publish")
	_, err := lockops.NewRedisFairMutex(userSession(t, m), "lock").Acquire(within(t))
	must.True(t, err != nil && contains(err, "NOPERM"), "fair mutex without its channel", err)
}

// A release notifies the first live waiter, even if the user may not remove the dead one.
func TestADeadWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	c := redisClient(t, m)
	for right, stays := range map[string]int64{"+zrem": 0, "-zrem": 1} {
		t.Run(right, func(t *testing.T) {
			asUser(t, m, "~*", "&*", "+@all", right)
			key := servertest.UniqueName(t)
			waiters, dead := "lockscope:wait:{"+key+"}", "lockscope:deadsession0123456789:"
			h := acquire(t, lockops.NewRedisMutex(userSession(t, m), key))
			must.Succeed(t, c.ZAdd(within(t), waiters, redis.Z{Score: 1, Member: dead}).Err())
			name, got := queueUp(t, within(t), kindOn(t, redisKind("mutex"), userSession(t, m), key))
			heard := c.Subscribe(within(t), "lockscope:wake:@"+name[10:22])
			defer heard.Close()
			must.Have(heard.Receive(within(t)))(t)
			release(t, h)
			next := granted(t, got)
			must.Contain(t, messagesOf(t, heard), name, "messages")
			must.Equal(t, c.ZCount(within(t), waiters, "1", "1").Val(), stays, "dead waiters left")
			release(t, next)
		})
	}
}

// asUser creates the user locker with the given rights.
func asUser(t testing.TB, m *servertest.Redis, rights ...string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", "locker", "reset", "on", ">secret"}
	for _, r := range rights {
		args = append(args, r)
	}
	must.Succeed(t, redisClient(t, m).Do(within(t), args...).Err())
}

func userSession(t testing.TB, m *servertest.Redis) *lockops.RedisSession {
	t.Helper()
	return redisSessionWith(t, []*redis.UniversalOptions{{Addrs: []string{m.Addr}, Username: "locker", Password: "secret"}})
}

// A denial names the missing right for a command, a command in a script, and a key.
func TestDenialsNameTheRight(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	for _, c := range []struct {
		rights         []string
		command, right string
		release        bool
	}{
		{[]string{"~*", "&*", "+@all", "-set"}, "set", "+set", false},
		{[]string{"~*", "&*", "+@all", "-evalsha"}, "evalsha", "+evalsha", false},
		{[]string{"~other:*", "&*", "+@all"}, "evalsha", "~lock ~lockscope:wait:{lock} ~lockscope:fence:{lock}", false},
		{[]string{"~*", "&*", "+@all", "-del"}, "del", "+del", true},
	} {
		asUser(t, m, c.rights...)
		h, err := lockops.NewRedisMutex(userSession(t, m), "lock", lockops.WithTTL(20*time.Second)).Acquire(within(t))
		if c.release {
			must.Succeed(t, err)
			err = h.Release(within(t))
		}
		var denied *lockops.DeniedError
		if !errors.As(err, &denied) || denied.Command != c.command || denied.Right != c.right {
			t.Errorf("%v: %v (%+v), want %s and %s", c.rights, err, denied, c.command, c.right)
		}
		asUser(t, m, "~*", "&*", "+@all")
	}
}
