package act

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// waits is one way in which a library's client waits for a lock. Our scripts use the same keys,
// values, channels and lists as the library (see inspect/recipe/*sources_test.go). A client that
// cannot be notified polls.
type waits struct {
	library string // as in docs/recipes.md
	how     string
	// write has the holder's commands, separated by semicolons. holder and me are the values of the
	// holder and the waiter in the lock's key.
	write, key, holder, me string
	// try is a script that returns 1 if it got the lock. keys and args are its additional ones.
	try  string
	keys []string
	args []any
	// until ends the wait between two tries.
	until until
}

// until ends a pause between two tries: a poll, a message on a channel, an element of a list, or
// the program's next call.
type until struct {
	poll     bool
	channel  string // a pattern
	messages []string
	list, to string // BLPOP, or BLMOVE to a list
}

var polls = until{poll: true}

// nextCall is for libraries that do not wait: the program's next call must succeed.
var nextCall = until{}

const (
	setIfFree = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`
	// renewOrSet renews its own value and takes a free key.
	renewOrSet = `local has = redis.call('GET', KEYS[1])
if has and has ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`
	allFree = `for _, k in ipairs(KEYS) do if redis.call('EXISTS', k) > 0 then return 0 end end
for _, k in ipairs(KEYS) do redis.call('SET', k, ARGV[1], 'PX', ARGV[2]) end return 1`

	reentrant = `if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`
	fairTurn = `local head = redis.call('LINDEX', KEYS[2], 0)
if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[1]) then
  redis.call('LPOP', KEYS[2]) redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('HSET', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1
end
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1]) redis.call('RPUSH', KEYS[2], ARGV[1])
end
return 0`
	writeMode = `if redis.call('HGET', KEYS[1], 'mode') then return 0 end
redis.call('HSET', KEYS[1], 'mode', 'write', ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`
	readersMode = `local mode = redis.call('HGET', KEYS[1], 'mode')
if mode and mode ~= 'read' then return 0 end
redis.call('HSET', KEYS[1], 'mode', 'read', ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], 1, 'PX', ARGV[2]) return 1`
	takePermit = `if tonumber(redis.call('GET', KEYS[1]) or 0) < 1 then return 0 end
redis.call('DECR', KEYS[1]) redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1]) return 1`

	// oneMember is a sorted set with one holder, which expires at its score.
	oneMember = `local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000)
if redis.call('ZCARD', KEYS[1]) > 0 then return 0 end
for i = 3, #ARGV do redis.call('ZADD', KEYS[1], now[1] * 1000 + ARGV[2], ARGV[i]) end
redis.call('ZADD', KEYS[1], now[1] * 1000 + ARGV[2], ARGV[1]) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`
	// oneSince is the same with the time of acquisition as the score.
	oneSince = `local now = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000 - ARGV[2])
if redis.call('ZCARD', KEYS[1]) > 0 then return 0 end
redis.call('ZADD', KEYS[1], now[1] * 1000, ARGV[1]) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`
	writerWaits = `local has = redis.call('GET', KEYS[1])
if has and has ~= ARGV[1] .. '_WRITERWAITING' then return 0 end
if redis.call('SCARD', KEYS[2]) > 0 then redis.call('SET', KEYS[1], ARGV[1] .. '_WRITERWAITING', 'PX', ARGV[2]) return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`
	readerWaits = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SADD', KEYS[2], ARGV[1]) redis.call('PEXPIRE', KEYS[2], ARGV[2]) return 1`
	jobRuns = `if redis.call('HLEN', KEYS[1]) > 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], '1700000001.5') redis.call('DEL', KEYS[2], KEYS[3]) return 1`
)

// structuredWaits are for locks that are more than a string.
func structuredWaits() []waits {
	const (
		redisson = "Redisson: RLock, RSpinLock, RFencedLock, RFairLock, RReadWriteLock"
		madelson = "madelson/DistributedLock (.NET): read-write lock"
		job      = "uniquejobs:5d41402abc4b2a76b9719d911017c592"
		uuidA    = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
		uuidB    = "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
		otherTok = "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
	)
	soon := soonText()
	hears := func(channel string) until { return until{channel: channel, messages: []string{"0", "1"}} }
	return []waits{
		{library: redisson, how: "RLock", write: "HSET a " + ownerA + " 2;PEXPIRE a 3600000", key: "a", holder: ownerA, me: ownerB, try: reentrant, until: hears("redisson_lock__channel:{a}")},
		{library: redisson, how: "RSpinLock", write: "HSET a " + ownerA + " 1;PEXPIRE a 3600000", key: "a", holder: ownerA, me: ownerB, try: reentrant, until: polls},
		{
			library: redisson, how: "RFairLock", write: "HSET a " + ownerA + " 1;PEXPIRE a 3600000", key: "a", holder: ownerA, me: ownerB,
			try: fairTurn, keys: []string{"redisson_lock_queue:{a}", "redisson_lock_timeout:{a}"}, args: []any{soon}, until: hears("redisson_lock__channel:{a}:" + ownerB),
		},
		{
			library: redisson, how: "a writer behind a reader", write: "HSET a mode read " + ownerA + " 1;PEXPIRE a 3600000;SET {a}:" + ownerA + ":rwlock_timeout:1 1 PX 3600000",
			key: "a", holder: ownerA, me: ownerB + ":write", try: writeMode, until: hears("redisson_rwlock:{a}"),
		},
		{
			library: redisson, how: "a reader behind a writer", write: "HSET a mode write " + ownerA + ":write 1;PEXPIRE a 3600000", key: "a", holder: ownerA + ":write", me: ownerB,
			try: readersMode, keys: []string{"{a}:" + ownerB + ":rwlock_timeout:1"}, until: hears("redisson_rwlock:{a}"),
		},
		{
			library: "Redisson: RPermitExpirableSemaphore", write: "SET a 0;ZADD {a}:timeout " + soon + " 0123456789abcdef", key: "a", holder: "0123456789abcdef", me: "fedcba9876543210",
			try: takePermit, keys: []string{"{a}:timeout"}, args: []any{soon}, until: until{channel: "redisson_sc:{a}", messages: []string{"1"}},
		},
		{
			library: "sidekiq-unique-jobs 7, 8, 9", write: "HSET " + job + ":LOCKED jid-1 1700000000.5;SET " + job + " jid-1", key: job + ":LOCKED", holder: "jid-1", me: "jid-2",
			try: jobRuns, keys: []string{job + ":QUEUED", job + ":PRIMED"}, until: until{list: job + ":QUEUED", to: job + ":PRIMED"},
		},
		{library: "Symfony Lock's RedisStore since 5.2", write: "ZADD lock:a " + soon + " " + token + " " + soon + " __write__;PEXPIREAT lock:a " + soon, key: "lock:a", holder: token, me: otherTok, try: oneMember, args: []any{"__write__"}, until: polls},
		{library: madelson, how: "a writer behind a reader", write: "SADD a.readers " + idA + ";PEXPIRE a.readers 3600000", key: "a.writer", holder: idA, me: idB, try: writerWaits, keys: []string{"a.readers"}, until: polls},
		{library: madelson, how: "a reader behind a writer", write: "SET a.writer " + idA + " PX 3600000", key: "a.writer", holder: idA, me: idB, try: readerWaits, keys: []string{"a.readers"}, until: polls},
		{library: "madelson/DistributedLock (.NET): semaphore", write: "ZADD semaphore:a " + soon + " " + idA + ";PEXPIRE semaphore:a 3600000", key: "semaphore:a", holder: idA, me: idB, try: oneMember, until: polls},
		{
			library: "redis-semaphore (npm): Semaphore, MultiSemaphore", write: "ZADD semaphore:a " + fmt.Sprint(time.Now().UnixMilli()) + " " + uuidA + ";PEXPIRE semaphore:a 3600000",
			key: "semaphore:a", holder: uuidA, me: uuidB, try: oneSince, until: polls,
		},
	}
}

func soonText() string { return fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()) }

// stringWaits has one entry for each way to wait for a lock that is one string.
func stringWaits() []waits {
	const spring = "Spring Integration: RedisLockRegistry; also redlock-rb, aioredlock, Sherlock, Hangfire"
	all := []waits{
		{library: "BullMQ", how: "the next look for stalled jobs", holder: "bullmq", try: setIfFree, until: nextCall},
		{library: "madelson/DistributedLock (.NET): mutex", holder: "madelson", try: setIfFree, until: polls},
		{library: "Symfony Lock before 5.2, in Redis", holder: "symfony", try: renewOrSet, until: polls},
		{library: "python-redis-lock", holder: "python-redis-lock", try: setIfFree, until: until{list: "lock-signal:a", messages: []string{"1"}}},
		{library: "node-redlock, redlock-universal, @sesamecare-oss/redlock", holder: "node-redlock", try: allFree, until: polls},
		{library: spring, how: "a lock that listens", holder: "spring-integration", try: renewOrSet, until: until{channel: "my-lock-channel:*", messages: []string{"my-lock:a"}}},
	}
	// another value of the same form, for the waiter
	another := strings.NewReplacer("0c4f1b2e", "0c4f1b2f", "5f0c1d4e", "5f0c1d4f", "YWFh", "YmJi", "Y2Nj", "ZGRk", "4711", "4712", "worker", "another", "aB3d", "bB3d")
	for i := range all {
		w := &all[i]
		at := slices.IndexFunc(recipe.StringLocks(), func(l recipe.StringLock) bool { return l.Name == w.holder })
		l := recipe.StringLocks()[at]
		w.key, w.holder = strings.Replace(l.Key, "NAME", "a", 1), l.Value
		w.me = another.Replace(w.holder)
		w.write = "SET " + w.key + " " + w.holder + " PX 3600000"
	}
	return all
}

// A waiter that waits as its library does gets the lock after its holder was released, and is then
// reported as the holder.
func TestRedisWaitersTakeReleasedLocks(t *testing.T) {
	t.Parallel()
	server, client, releaser := onOneMaster(t)
	for _, w := range append(structuredWaits(), stringWaits()...) {
		t.Run(w.library+" "+w.how, func(t *testing.T) {
			if w.me == w.holder {
				t.Fatal("the waiter has the holder's value")
			}
			trial{actions{write: w.write}, server.Addr, client, releaser}.write(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			refused, granted := make(chan struct{}), make(chan error, 1)
			called := make(chan struct{})
			go func() { granted <- w.acquire(ctx, client, refused, called) }()
			select {
			case <-refused:
			case err := <-granted:
				t.Fatalf("not refused at first: %v", err)
			}
			if w.until.list != "" {
				awaitBlocked(ctx, t, client)
			}
			releaseFirst(t, releaser, inspect.ID{Backend: "redis", Path: w.key}, inspect.Untrusted(w.holder))
			close(called)
			must.Succeed(t, <-granted)
			l := lockOf(t, server.Addr, w.key)
			if l == nil || len(l.Holders) != 1 || l.Holders[0].Name.Raw() != w.me {
				t.Errorf("%s does not hold it: %+v", w.me, l)
			}
		})
	}
}

// acquire tries until it gets the lock. It closes refused after the first refusal, once it is
// subscribed. called stands for the next call of a program whose library does not wait.
func (w waits) acquire(ctx context.Context, c *redis.Client, refused chan<- struct{}, called <-chan struct{}) error {
	var heard *redis.PubSub
	if w.until.channel != "" {
		heard = c.PSubscribe(ctx, w.until.channel)
		defer heard.Close()
		if _, err := heard.Receive(ctx); err != nil {
			return err
		}
	}
	keys, args := append([]string{w.key}, w.keys...), append([]any{w.me, 3600000}, w.args...)
	for first := true; ; first = false {
		n, err := redis.NewScript(w.try).Run(ctx, c, keys, args...).Int()
		if err != nil || n == 1 {
			return err
		}
		if first {
			close(refused)
		}
		if err := w.until.await(ctx, c, heard, called); err != nil {
			return err
		}
	}
}

func (u until) await(ctx context.Context, c *redis.Client, heard *redis.PubSub, called <-chan struct{}) error {
	switch {
	case u.to != "":
		return c.BLMove(ctx, u.list, u.to, "RIGHT", "LEFT", time.Minute).Err()
	case u.list != "":
		popped, err := c.BLPop(ctx, time.Minute, u.list).Result()
		if err == nil && !slices.Contains(u.messages, popped[1]) {
			err = fmt.Errorf("got %q from %s", popped[1], u.list)
		}
		return err
	case heard != nil:
		for {
			m, err := heard.ReceiveMessage(ctx)
			if err != nil {
				return fmt.Errorf("no message: %w", err)
			}
			if slices.Contains(u.messages, m.Payload) {
				return nil
			}
		}
	}
	var again <-chan struct{} = called
	var tick <-chan time.Time
	if u.poll {
		again, tick = nil, time.After(5*time.Millisecond)
	}
	select {
	case <-again:
	case <-tick:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// An RSemaphore is only a number, so its holders are unknown and none can be released.
func TestHolderlessSemaphoreIsNotReleased(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	hear(t, client, "redisson_sc:{permits}")
	client.Set(t.Context(), "permits", 0, 0)
	p, err := releaser.Preview(t.Context(), ofKey("permits", "0"))
	if err != nil || p.Refused == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || result.Released || client.Get(t.Context(), "permits").Val() != "0" {
		t.Errorf("%+v, %v", result, err)
	}
}

// A released permit is reported gone even if a client listens for one. The number does not show the
// other holders.
func TestReturnedPermitIsReportedGone(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	client := server.Client(t)
	releaser := onMaster(t, client, server.Addr)
	hear(t, client, "redisson_sc:{a}")
	const permit = "0123456789abcdef"
	client.Set(t.Context(), "a", 0, 0)
	client.ZAdd(t.Context(), "{a}:timeout", redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: permit})
	p := confirmed(t, releaser, ofKey("a", permit))
	client.ZRem(t.Context(), "{a}:timeout", permit)
	client.Incr(t.Context(), "a")
	result, err := releaser.Execute(t.Context(), p, "typed")
	if err != nil || result.Released || result.Reason != Gone && result.Reason != Changed {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestACustomRecipeWakesItsWaiters(t *testing.T) {
	server := servertest.StartEmbeddedRedis(t)
	client := server.Client(t)
	custom, err := recipe.NewCustom("acme", "redis", "", recipe.Patterns{
		Lock: `acme:.+`, Contender: `(?P<host>[^/]+)/(?P<pid>\d+)`, Wakes: recipe.Waking{Channel: "freed:{key}", Message: "go"},
	})
	must.Succeed(t, err)
	releaser := onMaster(t, client, server.Addr)
	releaser.recipes = []recipe.Custom{custom}
	must.Succeed(t, client.Set(t.Context(), "acme:orders", "web-1/42", time.Minute).Err())
	waits := hear(t, client, "freed:acme:orders")
	releaseFirst(t, releaser, inspect.ID{Backend: "redis", Path: "acme:orders"}, "web-1/42")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if m, err := waits.ReceiveMessage(ctx); err != nil || m.Payload != "go" {
		t.Errorf("the waiter got %v: %v", m, err)
	}
}
