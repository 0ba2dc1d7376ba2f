package act

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

const (
	ownerA = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718:7"
	ownerB = "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d:9"
	token  = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
	idA    = "web1_11_0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	idB    = "web2_22_7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d"
)

// releasing is the release of one contender. write has the commands that leave the lock as its
// library does, separated by semicolons. NAME stands for the lock's name, NOW for the time and SOON
// for a minute later, in milliseconds.
type releasing struct {
	name, write, lock, owner string
	waiter                   bool
	channel, message         string
	left                     []string // keys that remain
}

var releases = []releasing{
	{
		name: "redisson", lock: "NAME", owner: ownerA,
		write:   "HSET NAME " + ownerA + " 2;PEXPIRE NAME 30000;SET redisson_lock_token:{NAME} 4",
		channel: "redisson_lock__channel:{NAME}", message: "0", left: []string{"redisson_lock_token:{NAME}"},
	},
	{
		name: "permits-of-one-client", lock: "semaphore:NAME", owner: ownerA[:36] + "_1",
		write: "ZADD semaphore:NAME NOW " + ownerA[:36] + "_0 NOW " + ownerA[:36] + "_1;PEXPIRE semaphore:NAME 60000",
	},
	{
		name: "permit", lock: "semaphore:NAME", owner: ownerA[:36],
		write: "ZADD semaphore:NAME NOW " + ownerA[:36] + " NOW " + ownerB[:36] + ";PEXPIRE semaphore:NAME 60000", left: []string{"semaphore:NAME"},
	},
	{
		name: "mutex-of-redis-semaphore", lock: "mutex:NAME", owner: ownerA[:36], write: "SET mutex:NAME " + ownerA[:36] + " PX 60000",
	},
	{
		name: "fair", lock: "NAME", owner: ownerA,
		write:   "HSET NAME " + ownerA + " 1;RPUSH redisson_lock_queue:{NAME} " + ownerB + ";ZADD redisson_lock_timeout:{NAME} SOON " + ownerB,
		channel: "redisson_lock__channel:{NAME}:" + ownerB, message: "0",
		left: []string{"redisson_lock_queue:{NAME}", "redisson_lock_timeout:{NAME}"},
	},
	{
		name: "fair-waiter", lock: "NAME", owner: ownerB, waiter: true,
		write: "HSET NAME " + ownerA + " 1;RPUSH redisson_lock_queue:{NAME} " + ownerB + ";ZADD redisson_lock_timeout:{NAME} SOON " + ownerB,
		left:  []string{"NAME"},
	},
	{
		name: "write", lock: "NAME", owner: ownerA + ":write",
		write:   "HSET NAME mode write " + ownerA + ":write 1 " + ownerA + " 1;SET {NAME}:" + ownerA + ":rwlock_timeout:1 1 PX 30000",
		channel: "redisson_rwlock:{NAME}", message: "1",
	},
	{
		name: "one-of-two-readers", lock: "NAME", owner: ownerA,
		write: "HSET NAME mode read " + ownerA + " 1 " + ownerB + " 1;SET {NAME}:" + ownerA + ":rwlock_timeout:1 1 PX 30000;SET {NAME}:" + ownerB + ":rwlock_timeout:1 1 PX 30000",
		left:  []string{"NAME", "{NAME}:" + ownerB + ":rwlock_timeout:1"},
	},
	{
		name: "last-reader", lock: "NAME", owner: ownerA,
		write:   "HSET NAME mode read " + ownerA + " 2;SET {NAME}:" + ownerA + ":rwlock_timeout:1 1 PX 30000;SET {NAME}:" + ownerA + ":rwlock_timeout:2 1 PX 30000",
		channel: "redisson_rwlock:{NAME}", message: "0",
	},
	{
		name: "permit", lock: "NAME", owner: "0123456789abcdef",
		write:   "SET NAME 0;ZADD {NAME}:timeout SOON 0123456789abcdef",
		channel: "redisson_sc:{NAME}", message: "1", left: []string{"NAME"},
	},
	{name: "symfony", lock: "NAME", owner: token, write: "ZADD NAME SOON " + token + " SOON __write__"},
	{
		name: "madelson-semaphore", lock: "NAME", owner: idA, left: []string{"NAME"},
		write: "ZADD NAME SOON " + idA + " SOON " + idB,
	},
	{
		name: "madelson-reader", lock: "NAME.writer", owner: idA, left: []string{"NAME.readers", "NAME.writer"},
		write: "SADD NAME.readers " + idA + " " + idB + ";SET NAME.writer " + idB + "_WRITERWAITING PX 30000",
	},
	{
		name: "madelson-waiting-writer", lock: "NAME.writer", owner: idB + "_WRITERWAITING", waiter: true, left: []string{"NAME.readers"},
		write: "SADD NAME.readers " + idA + ";SET NAME.writer " + idB + "_WRITERWAITING PX 30000",
	},
	{
		name: "rueidislock", lock: "rueidislock:0:NAME", owner: "0123456789abcdefghijklmn", left: []string{"rueidislock:1:NAME"},
		write: "SET rueidislock:0:NAME 0123456789abcdefghijklmn PX 5000;SET rueidislock:1:NAME other PX 5000;SET rueidislock:2:NAME 0123456789abcdefghijklmn PX 5000",
	},
}

// A guarded delete of a structured lock leaves the same keys as the library's own release and
// notifies the same clients.
func TestReleaseMatchesTheLibrary(t *testing.T) {
	t.Parallel()
	for _, tt := range releases {
		t.Run(tt.name, func(t *testing.T) {
			servertest.EachRedis(t, 1, tt.isDone)
		})
	}
}

func (tt releasing) isDone(t *testing.T, servers []*servertest.Redis) {
	clients, addrs := redisMastersOf(t, servers)
	c, name := clients[0], servertest.UniqueName(t)
	now := time.Now()
	named := strings.NewReplacer("NAME", name, "NOW", fmt.Sprint(now.UnixMilli()), "SOON", fmt.Sprint(now.Add(time.Minute).UnixMilli())).Replace
	command(t, c, named(tt.write))
	var messages <-chan *redis.Message
	if tt.channel != "" {
		messages = hear(t, c, named(tt.channel)).Channel()
	}
	releaser := onMasters(t, clients, addrs)
	request := ofKey(named(tt.lock), tt.owner)
	if tt.waiter {
		if p, err := releaser.Preview(t.Context(), request); err != nil || p.Refused != NotHolder {
			t.Errorf("a waiter: %+v, %v", p, err)
		}
		request.Waiter = true
	}
	p := confirmed(t, releaser, request)
	if len(p.Sends) != 1 || len(p.Warnings) == 0 {
		t.Errorf("preview %+v", p)
	}
	result, err := releaser.Execute(t.Context(), p, "--yes")
	if err != nil || !result.Released || !result.Masters[0].Deleted {
		t.Errorf("result %+v, %v", result, err)
	}
	if messages != nil {
		select {
		case m := <-messages:
			must.Equal(t, m.Payload, tt.message, "published")
		case <-time.After(60 * time.Second):
			t.Error("nothing was published")
		}
	}
	var want []string
	for _, key := range tt.left {
		want = append(want, named(key))
	}
	slices.Sort(want)
	left := must.Have(c.Keys(t.Context(), "*"+name+"*").Result())(t)
	must.Same(t, slices.Sorted(slices.Values(left)), want, "keys left")
	// The seen contender is gone, so nothing more is removed.
	again, err := releaser.Execute(t.Context(), p, "--yes")
	if err != nil || again.Released || again.Masters[0].Deleted {
		t.Errorf("again: %+v, %v", again, err)
	}
}
