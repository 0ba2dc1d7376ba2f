package lockops_test

import (
	"context"
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

// When a replica without the lock is promoted, the hold ends long before its deadline, and the next
// token is higher. Replication is asynchronous, so two holders at once remain possible.
func TestR7_FailoverIsReportedAndTokensGrow(t *testing.T) {
	t.Parallel()
	sentinel, master, replica := servertest.StartRedisSentinel(t)
	connect := func() *lockops.RedisSession {
		return redisSessionWith(t, masterOptions{{Addrs: []string{sentinel}, MasterName: servertest.SentinelMaster}})
	}
	for _, kind := range oneRedisKinds {
		release(t, acquire(t, lockOf(t, kind, connect(), "lock:"+kind.Name))) // connects through the sentinel
	}
	redisClient(t, replica).ReplicaOf(within(t), "127.0.0.1", "1") // it stops replicating the master
	first := acquire(t, lockops.NewRedisMutex(connect(), "lock", lockops.WithTTL(time.Hour)))
	awaitListener(t, redisClient(t, master))
	redisClient(t, replica).Do(within(t), "REPLICAOF", "NO", "ONE")
	master.Kill(t)
	host, port, _ := strings.Cut(replica.Addr, ":")
	sc := redis.NewClient(&redis.Options{Addr: sentinel, Protocol: 2})
	defer sc.Close()
	sc.Do(within(t), "SENTINEL", "REMOVE", servertest.SentinelMaster)
	must.Succeed(t, sc.Do(within(t), "SENTINEL", "MONITOR", servertest.SentinelMaster, host, port, "1").Err())
	awaitLoss(t, first)
	second := acquire(t, lockops.NewRedisMutex(connect(), "lock"))
	tokensGrow(t, first, second)
	release(t, second)
}

// When a master restarts empty, the hold ends as soon as it is back, long before the next renewal.
// Tokens keep growing.
func TestR8_RestartIsReported(t *testing.T) {
	t.Parallel()
	m := lockops.AnyRedis(t)
	for _, kind := range oneRedisKinds {
		l := lockOf(t, kind, redisSession(t, m), "lock", lockops.WithTTL(time.Hour))
		h := acquire(t, l)
		awaitListener(t, redisClient(t, m))
		m.Restart(t)
		awaitLoss(t, h)
		must.Be(t, h.Release(within(t)), lockops.ErrLost, kind.Name, "release")
		next := acquire(t, l)
		tokensGrow(t, h, next)
		release(t, next)
	}
}

// If the server's clock jumps ahead, the hold ends by its next renewal. If it is set back, the
// deadline stays, since it follows our own clock, and tokens keep growing.
func TestR9_ClockSteps(t *testing.T) {
	t.Parallel()
	m, clock := servertest.StartRedisWithClock(t)
	c := redisClient(t, m)
	const ttl, step = 6 * time.Second, time.Minute
	for _, kind := range oneRedisKinds {
		s := redisSession(t, m)
		h := acquire(t, lockOf(t, kind, s, "lock", lockops.WithTTL(ttl)))
		clock.Step(t, step)
		awaitLoss(t, h)
		start := time.Now()
		h = acquire(t, lockOf(t, kind, s, "other", lockops.WithTTL(ttl), lockops.WithoutRenewal()))
		clock.Step(t, -step)
		d, ok := h.Deadline()
		must.True(t, ok && d.Sub(start) <= ttl+time.Since(start), kind.Name, "deadline", d.Sub(start), "after the start, beyond the TTL")
		awaitLoss(t, h)
		left := c.PTTL(within(t), "other").Val()
		must.True(t, left >= step/2, kind.Name, "the key has", left, "left, so the clock was not set back")
		c.Del(within(t), "other")
		next := acquire(t, lockOf(t, kind, s, "other"))
		tokensGrow(t, h, next)
		release(t, next)
	}
}

func TestR10_EvictionIsReported(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t, "--maxmemory-policy", "allkeys-random")
	c := redisClient(t, m)
	h := acquire(t, lockops.NewRedisMutex(redisSession(t, m), "lock", lockops.WithTTL(3*time.Second)))
	must.Succeed(t, c.ConfigSet(within(t), "maxmemory", "1").Err()) // evicts every key
	c.Set(within(t), "more", "memory", 0)
	awaitLoss(t, h)
	c.ConfigSet(within(t), "maxmemory", "0")
}

// If the answer takes longer than the TTL, another client may hold the lock by then.
func TestAnswerAfterExpiryGrantsNothing(t *testing.T) {
	t.Parallel()
	w := servertest.StartWire(t, lockops.AnyRedis(t).Addr)
	s := redisSessionAt(t, []string{w.Addr()})
	for _, kind := range oneRedisKinds {
		release(t, acquire(t, lockOf(t, kind, s, "lock")))
		w.Delay(150 * time.Millisecond)
		l := lockOf(t, kind, s, "lock", lockops.WithTTL(100*time.Millisecond), lockops.WithMasterLimit(5*time.Second))
		_, err := l.TryAcquire(within(t))
		must.True(t, err != nil, kind.Name, "acquired an expired lock")
		w.Heal()
	}
}

// A cancelled waiter leaves neither a key nor an entry in the queue.
func TestRedisCancelWhileWaitingLeavesNothing(t *testing.T) {
	t.Parallel()
	servertest.EachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		for queue, kind := range map[string]lockops.Kind{"wait": redisKind("mutex"), "queue": redisKind("fair")} {
			key := servertest.UniqueName(t)
			queue = "lockscope:" + queue + ":{" + key + "}"
			h := acquire(t, lockOf(t, kind, redisSession(t, masters[0]), key))
			ctx, cancel := context.WithCancel(within(t))
			waiting := redisSession(t, masters[0])
			_, got := mustQueue(t, ctx, kindMaker(t, kind, waiting, key))
			c := redisClient(t, masters[0])
			must.Become(t, "the waiter is in the queue", func() bool { return c.ZCard(within(t), queue).Val() == 1 })
			cancel()
			c.Persist(within(t), queue) // otherwise it may expire on a busy machine
			<-got
			waiting.Close() // waits for the clean-up
			must.Equal(t, c.ZCard(within(t), queue).Val(), 0, kind.Name, "waiters in the queue")
			release(t, h)
			noKey(t, kind.Name, masters, key)
		}
	})
}

// A full master refuses new locks with its OOM error, while held locks can be extended and
// released. A fair mutex may be granted, since its script starts with a command that needs no
// memory.
func TestAServerWithoutMemory(t *testing.T) {
	t.Parallel()
	masters := threeMasters(t)
	for _, kind := range redisKinds {
		t.Run(kind.Name, func(t *testing.T) {
			on := mastersOf(kind, masters)
			lock := func(name string) lockops.Locker {
				return lockOf(t, kind, redisSession(t, on...), name, lockops.WithTTL(closeTTL))
			}
			h := acquire(t, lock("held"))
			setMemory(t, on, "1")
			switch h, err := lock("new").TryAcquire(within(t)); {
			case err == nil && kind.Name == "fair":
				release(t, h)
			case err == nil || !contains(err, "OOM"):
				t.Errorf("a new lock: %v, want the server's OOM", err)
			}
			must.Be(t, h.Extend(within(t)), nil, "extend")
			must.Be(t, h.Release(within(t)), nil, "release")
			noKey(t, kind.Name, on, "held")
			setMemory(t, on, "0")
			noKey(t, kind.Name, on, "new")
			release(t, acquire(t, lock("new")))
		})
	}
}

func setMemory(t *testing.T, masters []*servertest.Redis, most string) {
	t.Helper()
	for _, m := range masters {
		must.Succeed(t, redisClient(t, m).ConfigSet(within(t), "maxmemory", most).Err())
	}
}

// awaitListener waits until the holder of "lock" is subscribed.
func awaitListener(t *testing.T, c *redis.Client) {
	t.Helper()
	must.Become(t, "the holder is subscribed", func() bool { return len(c.PubSubChannels(within(t), "lockscope:wake:lock").Val()) == 1 })
}

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
			_, got := mustQueue(t, within(t), kindMaker(t, redisKind("mutex"), userSession(t, m), key))
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
			name, got := mustQueue(t, within(t), kindMaker(t, redisKind("mutex"), userSession(t, m), key))
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

// userSession is a session of the user that asUser restricts.
func userSession(t testing.TB, m *servertest.Redis) *lockops.RedisSession {
	t.Helper()
	return redisSessionWith(t, masterOptions{{Addrs: []string{m.Addr}, Username: "locker", Password: "secret"}})
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
		must.True(t, errors.As(err, &denied) && denied.Command == c.command && denied.Right == c.right, c.rights, err)
		asUser(t, m, "~*", "&*", "+@all")
	}
}

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
			name, got := mustQueue(t, within(t), kindMaker(t, kind, other, key))
			release(t, h)
			must.Contain(t, messagesOf(t, heard), name, "messages")
			release(t, granted(t, got))
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
	m := lockops.AnyRedis(t)
	c := redisClient(t, m)
	exists := func() bool { return c.Exists(within(t), "lock").Val() == 1 }
	for _, kind := range oneRedisKinds {
		wire := servertest.StartWire(t, m.Addr)
		s := redisSession(t, &servertest.Redis{Addr: wire.Addr()})
		l := lockOf(t, kind, s, "lock", lockops.WithMasterLimit(600*time.Millisecond), lockops.WithTTL(10*time.Minute))
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(within(t))
		try := func() {
			wire.Heal()
			release(t, acquire(t, l)) // connects and learns the clock
			wire.Stop(servertest.ToClient)
			go func() { _, err := l.TryAcquire(ctx); done <- err }()
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
		cancel()
		must.True(t, <-done != nil, kind.Name, "granted without an answer")
		must.True(t, exists(), kind.Name, "the key is gone although no request could get through")
		wire.Heal()
		s.Close() // waits for the clean-up
		must.True(t, !exists(), kind.Name, "the key was left behind")
	}
}
