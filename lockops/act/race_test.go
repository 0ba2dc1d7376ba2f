package act

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// tries is the number of attempts per race; `make races` uses more.
var tries = flag.Int("act.tries", 20, "how often an action races with the holder's own, of each kind")

// ownRelease is a client's release: compare and delete, as every library does it.
var ownRelease = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// ownRenewal is a client's renewal: compare and set the TTL.
var ownRenewal = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`)

// racePace runs another event at a random moment during an action. usual is the mean duration of
// the action so far.
type racePace struct{ usual time.Duration }

func (b *racePace) run(other func(), action func() (Result, error)) (Result, error) {
	var both sync.WaitGroup
	began, after := time.Now(), rand.N(b.usual+1)
	both.Go(func() {
		time.Sleep(after) // no event marks the middle of a request, so try every instant
		other()
	})
	result, err := action()
	b.usual = (3*b.usual + time.Since(began)) / 4
	both.Wait()
	return result, err
}

// nextValue is the value of the client that takes the lock once it is free.
var nextValue = strings.Repeat("n", 21) + "g=="

// A znode is deleted by its holder or by us, never reported as both, and the waiters behind it
// stay.
func TestActsInRacesOnZooKeeper(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		releaser := onEnsemble(t, conn, server.Addr)
		ours, pace := 0, racePace{}
		for i := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), i)
			names := zkQueue(t, holder, dir, 2)
			p := confirmed(t, releaser, ofNode(dir, names[0]))
			var own error
			result, err := pace.run(func() { own = holder.Delete(dir+"/"+names[0], -1) }, func() (Result, error) {
				return releaser.Execute(t.Context(), p, "--yes")
			})
			if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) {
				t.Fatalf("try %d: %v, %v", i, err, own)
			}
			if result.Released == (own == nil) || !result.Released && result.Reason != Gone {
				t.Fatalf("try %d: the holder's delete returned %v, and we report %+v", i, own, result)
			} else if result.Released {
				ours++
			}
			if there, _, err := conn.Exists(dir + "/" + names[1]); err != nil || !there {
				t.Fatalf("try %d: the waiter is gone, %v", i, err)
			}
		}
		t.Logf("%d races, %d won", *tries, ours)
	})
}

// connectUntil connects until end is called. Many connections at once would need too much memory: each has buffers
// of 1.5 MiB.
func connectUntil(t *testing.T, addr string) (conn *zk.Conn, end func()) {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	must.Succeed(t, err)
	return conn, func() {
		conn.Close()
		for range events { // closed once the connection's goroutines have ended
		}
	}
}

// A holder's session ends, as on expiry, while its znode is released. The waiter stays, and we
// report the release or that the holder was gone.
func TestSessionsEndInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, waiter := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		releaser := onEnsemble(t, conn, server.Addr)
		ours, pace := 0, racePace{}
		for i := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), i)
			holder, end := connectUntil(t, server.Addr)
			first := zkQueue(t, holder, dir, 1)[0]
			made := create(t, waiter, dir+"/"+first[:len(first)-10], "", sequential)
			p := confirmed(t, releaser, ofNode(dir, first))
			result, err := pace.run(holder.Close, func() (Result, error) { return releaser.Execute(t.Context(), p, "--yes") })
			if err != nil || !result.Released && result.Reason != Gone {
				t.Fatalf("try %d: %+v, %v", i, result, err)
			}
			children, _, err := conn.Children(dir)
			if err != nil || len(children) != 1 || dir+"/"+children[0] != made {
				t.Fatalf("try %d: %v is left, %v; %+v", i, children, err, result)
			}
			if result.Released {
				ours++
			}
			end()
		}
		t.Logf("%d races with the end of a session, %d won", *tries, ours)
	})
}

// A waiter is removed while the holder releases. Once the waiter holds the lock it stays. The
// holder's transaction checks the waiter's node, so it shows which came first.
func TestWaiterGetsLockInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		releaser := onEnsemble(t, conn, server.Addr)
		ours, pace := 0, racePace{}
		for i := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), i)
			names := zkQueue(t, holder, dir, 2)
			p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(names[1]), Waiter: true})
			var own error
			result, err := pace.run(func() {
				_, own = holder.Multi(&zk.CheckVersionRequest{Path: dir + "/" + names[1], Version: -1}, &zk.DeleteRequest{Path: dir + "/" + names[0], Version: -1})
			}, func() (Result, error) { return releaser.Execute(t.Context(), p, "--yes") })
			if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) {
				t.Fatalf("try %d: %v, %v", i, err, own)
			}
			if result.Released == (own == nil) || !result.Released && result.Reason != Changed {
				t.Fatalf("try %d: the holder released first: %v; we report %+v", i, own == nil, result)
			}
			left := names[1] // or the holder, if it did not release
			if result.Released {
				left, ours = names[0], ours+1
			}
			if children, _, err := conn.Children(dir); err != nil || len(children) != 1 || children[0] != left {
				t.Fatalf("try %d: %v is left, want %s; %v", i, children, left, err)
			}
		}
		t.Logf("%d races, %d won", *tries, ours)
	})
}

// The holder of a Curator or kazoo permit deletes it while we do. The other permit and the waiter
// stay.
func TestZooKeeperPermitsInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		releaser := onEnsemble(t, conn, server.Addr)
		const protected = "/_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-"
		ours, pace := 0, racePace{}
		for try := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), try)
			var permits []string
			if curator := try%2 == 0; curator {
				create(t, holder, dir, "", 0)
				create(t, holder, dir+"/leases", "", 0)
				create(t, holder, dir+"/locks", "", 0)
				lease := dir + "/leases" + protected + "lease-"
				permits = []string{create(t, holder, lease, "", sequential), create(t, holder, lease, "", sequential)}
			} else {
				create(t, holder, dir, "2", 0)
				permits = []string{create(t, holder, dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718", "a", zk.FlagEphemeral), create(t, holder, dir+"/7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d", "b", zk.FlagEphemeral)}
			}
			name := permits[0][strings.LastIndexByte(permits[0], '/')+1:]
			p := confirmed(t, releaser, ofNode(dir, name))
			var own error
			result, err := pace.run(func() { own = holder.Delete(permits[0], -1) }, func() (Result, error) {
				return releaser.Execute(t.Context(), p, "--yes")
			})
			if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) || result.Released == (own == nil) || !result.Released && result.Reason != Gone {
				t.Fatalf("%s: the holder's delete returned %v, and we report %+v, %v", name, own, result, err)
			}
			if there, _, err := conn.Exists(permits[1]); err != nil || !there {
				t.Fatalf("%s: the other permit is gone, %v", name, err)
			}
			if result.Released {
				ours++
			}
		}
		t.Logf("%d races, %d won", *tries, ours)
	})
}
