package act

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/lockops"
)

// releaseFirst releases the only holder of a lock and returns the result.
func releaseFirst(t *testing.T, r Releaser, id inspect.ID, owner inspect.Untrusted) Result {
	t.Helper()
	p := confirmed(t, r, Request{ID: id, Owner: owner, TwoLeaders: true})
	result, err := r.Execute(t.Context(), p, "typed")
	if err != nil || !result.Released {
		t.Fatalf("release of %s: %+v, %v", owner, result, err)
	}
	return result
}

// Waiting Curator and kazoo clients get the lock once the holder's node is deleted.
func TestCuratorAndKazooTakeReleasedLocks(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn := connectZooKeeper(t, server.Addr)
		releaser := onEnsemble(t, conn, server.Addr)
		java, python := servertest.StartCurator(t, server.Addr), servertest.StartKazooLocks(t, server.Addr)
		for _, tt := range []struct {
			peer *servertest.Peer
			kind string
			more string
			base string // path of the queue, below the lock's
		}{
			{java, "mutex", "", ""},
			{java, "write", "", ""},
			{java, "semaphore", "1", "/leases"},
			{python, "lock", "", ""},
			{python, "semaphore", "1", ""},
		} {
			path := servertest.UniquePath(t) + "-" + tt.kind
			id := inspect.ID{Backend: "zk", Path: path}
			tt.peer.Send(t, tt.kind, "a", path, tt.more)
			tt.peer.Expect(t, "acquired")
			holders, _, err := conn.Children(path + tt.base)
			if err != nil || len(holders) != 1 {
				t.Fatalf("%s: %v, %v", tt.kind, holders, err)
			}
			tt.peer.Send(t, tt.kind, "b", path, tt.more)
			awaitNext(t, releaser, Request{ID: id, Owner: inspect.Untrusted(holders[0])})
			releaseFirst(t, releaser, id, inspect.Untrusted(holders[0]))
			tt.peer.Expect(t, "acquired "+tt.kind+" b")
		}
	})
}

// awaitNext waits until a preview names the next holder.
func awaitNext(t *testing.T, r Releaser, request Request) {
	t.Helper()
	must.Become(t, "a waiter for "+request.ID.String(), func() bool {
		p, err := r.Preview(t.Context(), request)
		return err == nil && p.Next != nil
	})
}

// A redis-py client and waiters of our mutex and fair mutex get the lock after a forced release.
func TestRedisClientsTakeReleasedLocks(t *testing.T) {
	t.Parallel()
	server, client, releaser := onOneMaster(t)
	held := func(key string) inspect.Untrusted { return inspect.Untrusted(client.Get(t.Context(), key).Val()) }

	for _, key := range []string{"lock:python", "redbeat::lock"} { // RedBeat takes the latter with this lock
		first := servertest.StartRedisPy(t, server.Addr, key)
		first.Expect(t, "acquired")
		second := servertest.StartRedisPy(t, server.Addr, key)
		releaseFirst(t, releaser, inspect.ID{Backend: "redis", Path: key}, held(key))
		second.Expect(t, "acquired")
	}

	session := must.Have(lockops.NewRedisSession(t.Context(), []*redis.UniversalOptions{{Addrs: []string{server.Addr}}}))(t)
	defer session.Close()
	ttl := lockops.WithTTL(time.Hour) // long enough that only the release frees the lock
	for key, locker := range map[string]lockops.Locker{
		"lock:plain": lockops.NewRedisMutex(session, "lock:plain", ttl), "lock:fair": lockops.NewRedisFairMutex(session, "lock:fair", ttl),
	} {
		must.Have(locker.Acquire(t.Context()))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		granted := make(chan error, 1)
		go func() {
			_, err := locker.Acquire(ctx)
			granted <- err
		}()
		id := inspect.ID{Backend: "redis", Path: key}
		awaitNext(t, releaser, Request{ID: id, Owner: held(key)})
		releaseFirst(t, releaser, id, held(key))
		must.Be(t, <-granted, nil, "the waiter for", key)
	}
}

// The waiters behind the removed one are not delayed.
func TestReleaseRemovesWaiterFromQueue(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	value := func(r byte) string { return recipe.LockscopeToken([16]byte{r}, "w") }
	client.Set(t.Context(), "lock:a", value(1), time.Minute)
	queue, alive := recipe.LockscopeKey(recipe.QueuePrefix, "lock:a"), recipe.LockscopeKey(recipe.AlivePrefix, "lock:a")
	client.ZAdd(t.Context(), queue, redis.Z{Score: 1, Member: value(2)}, redis.Z{Score: 2, Member: value(3)})
	client.HSet(t.Context(), alive, value(2), 1, value(3), client.Time(t.Context()).Val().Add(time.Hour).UnixMicro())
	if p, err := releaser.Preview(t.Context(), ofKey("lock:a", value(1))); err != nil || p.Next == nil || p.Next.Name.Raw() != value(3) {
		t.Errorf("the first in the queue is dead, the second is next: %+v, %v", p, err)
	}
	heard := hear(t, client, recipe.LockscopeChannel("lock:a"))
	request := ofKey("lock:a", value(2))
	if p, err := releaser.Preview(t.Context(), request); err != nil || p.Refused != NotHolder {
		t.Errorf("a waiter: %+v, %v", p, err)
	}
	request.Waiter = true
	if result, err := perform(t, releaser, request); err != nil || !result.Released || len(result.HoldersAfter) != 1 {
		t.Errorf("result %+v, %v", result, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := heard.ReceiveMessage(ctx); err != nil {
		t.Errorf("no waiter was notified: %v", err)
	}
	left, alives := client.ZRange(t.Context(), queue, 0, -1).Val(), client.HKeys(t.Context(), alive).Val()
	if len(left) != 1 || left[0] != value(3) || len(alives) != 1 || alives[0] != value(3) || client.Exists(t.Context(), "lock:a").Val() != 1 {
		t.Errorf("left: queue %q, alive %q", left, alives)
	}
}

// The lock is removed from all keys of the job, as the library's own unlock does. A client blocked
// on BRPOPLPUSH of QUEUED is woken.
func TestReleaseFreesSidekiqJob(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	for i, tt := range []struct {
		name  string
		other string // another job that holds it
		json  bool   // in the format of version 9
		left  []string
	}{
		{name: "the only one", left: []string{}},
		{name: "one of two", other: "jid-2", left: []string{":LOCKED"}},
		{name: "version 9", json: true, left: []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jobDigest := fmt.Sprintf("uniquejobs:%032x", i)
			do := func(args ...any) {
				must.Succeed(t, client.Do(t.Context(), args...).Err())
			}
			taken := "1700000000.123"
			if tt.json {
				taken = `{"limit":1,"worker":"Mailer"}`
			}
			do("HSET", jobDigest+":LOCKED", "jid-1", taken)
			do("SET", jobDigest, "jid-1")
			do("SET", jobDigest+":INFO", `{"worker":"Mailer"}`)
			do("ZADD", "uniquejobs:digests", 1, jobDigest, 2, "uniquejobs:another")
			if tt.other != "" {
				do("HSET", jobDigest+":LOCKED", tt.other, taken)
			}
			release := func() {
				releaseFirst(t, releaser, inspect.ID{Backend: "redis", Path: jobDigest + ":LOCKED"}, "jid-1")
			}
			if tt.json { // no client waits in version 9
				release()
			} else if got := awakened(t, client, jobDigest, release); got != "1" {
				t.Errorf("the waiter got %q", got)
			}
			client.Del(t.Context(), jobDigest+":PRIMED") // the waiter's own
			for _, key := range client.Keys(t.Context(), jobDigest+"*").Val() {
				if len(tt.left) != 1 || key != jobDigest+tt.left[0] {
					t.Errorf("%s is left", key)
				}
			}
			listed := client.ZRange(t.Context(), "uniquejobs:digests", 0, -1).Val()
			if has := slices.Contains(listed, jobDigest); has != (tt.other != "") || !slices.Contains(listed, "uniquejobs:another") {
				t.Errorf("register %q", listed)
			}
		})
	}
}

// awakened blocks a client on the job's queue and returns what it got after the release.
func awakened(t *testing.T, c *redis.Client, jobDigest string, release func()) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan string, 1)
	go func() {
		got <- c.BLMove(ctx, jobDigest+":QUEUED", jobDigest+":PRIMED", "RIGHT", "LEFT", time.Minute).Val()
	}()
	awaitBlocked(ctx, t, c)
	release()
	return <-got
}

// awaitBlocked waits until a client is blocked on the server.
func awaitBlocked(ctx context.Context, t *testing.T, c *redis.Client) {
	t.Helper()
	must.Become(t, "a blocked client", func() bool { return strings.Contains(c.Info(ctx, "clients").Val(), "blocked_clients:1") })
}

// The znodes of ShedLock and Helix are marked free instead of deleted, so that the libraries' next
// call succeeds. Newer data is left alone.
func TestPersistentLockIsMarkedFree(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, root := connectZooKeeper(t, server.Addr), servertest.UniquePath(t)
		for _, p := range []string{"", "/shedlock", "/c", "/c/LOCK", "/c/LOCK/RESOURCE"} {
			create(t, conn, root+p, "", 0)
		}
		create(t, conn, root+"/shedlock/daily", "2999-01-01T00:00:00.000Z", 0)
		create(t, conn, root+"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{"OWNER":"admin","TIMEOUT":"32472144000000","REQUESTOR_ID":"next"},"mapFields":{}}`, 0)
		hooked := &hooked{ZKConn: conn, beforeRemoval: func() {}}
		releaser := onEnsemble(t, hooked, server.Addr)
		for path, want := range map[string]string{
			"/shedlock/daily":     "1970-01-01T00:00:00.000Z",
			"/c/LOCK/RESOURCE/db": `{"id":"LOCK","mapFields":{},"simpleFields":{"OWNER":"","REQUESTOR_ID":"next","TIMEOUT":"-1"}}`,
		} {
			id, owner := inspect.ID{Backend: "zk", Path: root + path}, inspect.Untrusted(filepath.Base(path))
			p, err := releaser.Preview(t.Context(), Request{ID: id, Owner: owner})
			if err != nil || p.Refused != "" || !strings.Contains(p.Sends[len(p.Sends)-1], "set -v 0") {
				t.Fatalf("preview %+v, %v", p, err)
			}
			hooked.beforeRemoval = func() {
				data, _, _ := conn.Get(root + path)
				if _, err := conn.Set(root+path, data, -1); err != nil {
					t.Error(err)
				}
			}
			if result, err := releaser.Execute(t.Context(), p, "typed"); err != nil || result.Released || result.Reason != Changed {
				t.Errorf("written since the preview: %+v, %v", result, err)
			}
			hooked.beforeRemoval = func() {}
			if result := releaseFirst(t, releaser, id, owner); len(result.HoldersAfter) != 0 {
				t.Errorf("held by %+v", result.HoldersAfter)
			}
			if data, _, err := conn.Get(root + path); err != nil || string(data) != want {
				t.Errorf("%s: %s, %v", path, data, err)
			}
			if p, err := releaser.Preview(t.Context(), Request{ID: id, Owner: owner}); err != nil || p.Refused != Gone {
				t.Errorf("again: %+v, %v", p, err)
			}
		}
	})
}

// A waiter leaves our queue and takes the lock with the same value right after it was seen waiting.
// It now holds the lock, so it stays.
func TestDequeuedWaiterTurnedHolderIsSpared(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	clients, addrs := redisMastersOf(t, []*servertest.Redis{server})
	client := clients[0]
	value := func(r byte) string { return recipe.LockscopeToken([16]byte{r}, "w") }
	queue := recipe.LockscopeKey(recipe.QueuePrefix, "lock:a")
	client.Set(t.Context(), "lock:a", value(1), time.Hour)
	client.ZAdd(t.Context(), queue, redis.Z{Score: 1, Member: value(2)})
	client.HSet(t.Context(), recipe.LockscopeKey(recipe.AlivePrefix, "lock:a"), value(2), client.Time(t.Context()).Val().Add(time.Hour).UnixMicro())
	takes := func() { client.Set(t.Context(), "lock:a", value(2), time.Hour) }
	releaser := onMasters(t, []redis.UniversalClient{&beforeEval{client, takes}}, addrs)
	p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "redis", Path: "lock:a"}, Owner: inspect.Untrusted(value(2)), Waiter: true})
	if err != nil || p.Refused != "" || p.Seen.State == inspect.Holding {
		t.Fatalf("preview %+v, %v", p, err)
	}
	client.ZRem(t.Context(), queue, value(2))
	result, err := releaser.Execute(t.Context(), p, "typed")
	if err != nil || result.Released || result.Reason != Changed && result.Reason != Gone {
		t.Errorf("result %+v, %v", result, err)
	}

	must.True(t, client.Get(t.Context(), "lock:a").Val() != "", "the new holder lost the lock")
}

// beforeEval is a client that runs a function before each script.
type beforeEval struct {
	redis.UniversalClient
	happens func()
}

func (b *beforeEval) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	b.happens()
	return b.UniversalClient.EvalSha(ctx, sha, keys, args...)
}
