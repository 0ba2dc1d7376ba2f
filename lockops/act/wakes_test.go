package act

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
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
