package act

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"path"
	"slices"
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

// zkRace is an action in ZooKeeper while something else happens, in a new directory for each try.
type zkRace struct {
	*testing.T
	conn, holder *zk.Conn
	addr, dir    string
	try          int
	releaser     *ZooKeeper
	pace         racePace
}

// eachZKRace runs the tries on each server and counts those that we won.
func eachZKRace(t *testing.T, once func(r *zkRace) (won bool)) {
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		r := &zkRace{T: t, conn: conn, holder: holder, addr: server.Addr, releaser: onEnsemble(t, conn, server.Addr)}
		ours := 0
		for r.try = range *tries {
			r.dir = fmt.Sprintf("%s-%d", servertest.UniquePath(t), r.try)
			if once(r) {
				ours++
			}
		}
		t.Logf("%d races, %d won", *tries, ours)
	})
}

// run executes a request while the holder does something of its own. A missing node is the only
// error that the holder may get.
func (r *zkRace) run(request Request, other func() error) (result Result, own error) {
	r.Helper()
	p := confirmed(r.T, r.releaser, request)
	result, err := r.pace.run(func() { own = other() }, func() (Result, error) {
		return r.releaser.Execute(r.Context(), p, "--yes")
	})
	if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) {
		r.Fatalf("try %d: %v, %v", r.try, err, own)
	}
	return result, own
}

// delete is run with the delete of the same node by its holder. Only one of them succeeds.
func (r *zkRace) delete(node string) Result {
	r.Helper()
	result, own := r.run(ofNode(r.dir, path.Base(node)), func() error { return r.holder.Delete(node, -1) })
	if result.Released == (own == nil) || !result.Released && result.Reason != Gone {
		r.Fatalf("try %d: the holder's delete returned %v, and we report %+v", r.try, own, result)
	}
	return result
}

// wantLeft checks the children of a directory.
func (r *zkRace) wantLeft(dir string, want ...string) {
	r.Helper()
	children, _, err := r.conn.Children(dir)
	if err != nil || !slices.Equal(children, want) {
		r.Fatalf("try %d: %v is left, want %v; %v", r.try, children, want, err)
	}
}

// A znode is deleted by its holder or by us, never reported as both, and the waiters behind it
// stay.
func TestActsInRacesOnZooKeeper(t *testing.T) {
	t.Parallel()
	eachZKRace(t, func(r *zkRace) bool {
		names := zkQueue(r.T, r.holder, r.dir, 2)
		result := r.delete(r.dir + "/" + names[0])
		r.wantLeft(r.dir, names[1])
		return result.Released
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
	eachZKRace(t, func(r *zkRace) bool {
		holder, end := connectUntil(r.T, r.addr)
		defer end()
		first := zkQueue(r.T, holder, r.dir, 1)[0]
		waiter := create(r.T, r.holder, r.dir+"/"+first[:len(first)-10], "", sequential)
		result, _ := r.run(ofNode(r.dir, first), func() error {
			holder.Close()
			return nil
		})
		if !result.Released && result.Reason != Gone {
			r.Fatalf("try %d: %+v", r.try, result)
		}
		r.wantLeft(r.dir, path.Base(waiter))
		return result.Released
	})
}

// A waiter is removed while the holder releases. Once the waiter holds the lock it stays. The
// holder's transaction checks the waiter's node, so it shows which came first.
func TestWaiterGetsLockInRaces(t *testing.T) {
	t.Parallel()
	eachZKRace(t, func(r *zkRace) bool {
		names := zkQueue(r.T, r.holder, r.dir, 2)
		request := ofNode(r.dir, names[1])
		request.Waiter = true
		result, own := r.run(request, func() error {
			_, err := r.holder.Multi(
				&zk.CheckVersionRequest{Path: r.dir + "/" + names[1], Version: -1},
				&zk.DeleteRequest{Path: r.dir + "/" + names[0], Version: -1},
			)
			return err
		})
		if result.Released == (own == nil) || !result.Released && result.Reason != Changed {
			r.Fatalf("try %d: the holder released first: %v; we report %+v", r.try, own == nil, result)
		}
		left := names[1] // or the holder, if it did not release
		if result.Released {
			left = names[0]
		}
		r.wantLeft(r.dir, left)
		return result.Released
	})
}

// The holder of a Curator or kazoo permit deletes it while we do. The other permit and the waiter
// stay.
func TestZooKeeperPermitsInRaces(t *testing.T) {
	t.Parallel()
	const lease = "/leases/_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lease-"
	eachZKRace(t, func(r *zkRace) bool {
		if kazoo := r.try%2 == 1; kazoo {
			create(r.T, r.holder, r.dir, "2", 0)
			permit := create(r.T, r.holder, r.dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718", "a", zk.FlagEphemeral)
			other := create(r.T, r.holder, r.dir+"/7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d", "b", zk.FlagEphemeral)
			result := r.delete(permit)
			r.wantLeft(r.dir, path.Base(other))
			return result.Released
		}
		for _, dir := range []string{"", "/leases", "/locks"} {
			create(r.T, r.holder, r.dir+dir, "", 0)
		}
		permit := create(r.T, r.holder, r.dir+lease, "", sequential)
		other := create(r.T, r.holder, r.dir+lease, "", sequential)
		result := r.delete(permit)
		r.wantLeft(r.dir+"/leases", path.Base(other))
		return result.Released
	})
}

// A holder is asked while it releases. The next holder is never written to, and a request is
// reported as asked only if it reached the seen holder.
func TestAskingInRaces(t *testing.T) {
	t.Parallel()
	eachZKRace(t, func(r *zkRace) bool {
		create(r.T, r.holder, r.dir, "", 0)
		var nodes [2]string
		for at := range nodes {
			name := fmt.Sprintf("%s/_c_7f3e9c1a-0000-4000-8000-%012d-lock-", r.dir, at)
			nodes[at] = create(r.T, r.holder, name, "", sequential)
		}
		wire := &counting{ZKConn: r.conn}
		r.releaser.conn = wire
		request := ofNode(r.dir, path.Base(nodes[0]))
		request.Ask, request.Wait = true, time.Minute
		result, own := r.run(request, func() error { return r.holder.Delete(nodes[0], -1) })
		must.Succeed(r.T, own)
		asked := wire.written == 1
		if result.Asked != asked || asked != result.LetGo || result.Released || !asked && result.Reason != Gone {
			r.Fatalf("try %d: %d requests were written, and we report %+v", r.try, wire.written, result)
		}
		if data, stat, err := r.conn.Get(nodes[1]); err != nil || len(data) > 0 || stat.Version != 0 {
			r.Fatalf("try %d: the next holder was written to: %q, %v", r.try, data, err)
		}
		return asked
	})
}

// counting counts the writes that a server accepted.
type counting struct {
	ZKConn
	written int
}

func (c *counting) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	stat, err := c.ZKConn.Set(path, data, version)
	if err == nil {
		c.written++
	}
	return stat, err
}

// ttlOfMasters sets a TTL on three masters while the lock changes.
type ttlOfMasters struct {
	*testing.T
	clients  []redis.UniversalClient
	releaser *Redis
	pace     racePace
	key      string
	set      int
}

const ttlHolder = "b29vb29vb29vb29vb29vbw=="

// race takes the lock for a while, and runs other on each master during the action. It returns
// false if the lock expired before the preview.
func (r *ttlOfMasters) race(lasts time.Duration, other func(c redis.UniversalClient) int) (result Result, said [3]int, ok bool) {
	for _, c := range r.clients {
		c.Set(r.Context(), r.key, ttlHolder, lasts)
	}
	p, err := r.releaser.Preview(r.Context(), Request{ID: inspect.ID{Backend: "redis", Path: r.key}, Owner: ttlHolder, TTL: 10 * time.Minute})
	if lasts < time.Second && err == nil && (p.Refused == Gone || p.Refused == Changed) {
		return result, said, false
	}
	if err != nil || p.Refused != "" {
		r.Fatalf("%s: %+v, %v", r.key, p, err)
	}
	result, err = r.pace.run(func() {
		for i, c := range r.clients {
			said[i] = other(c)
		}
	}, func() (Result, error) { return r.releaser.Execute(r.Context(), p, "--yes") })
	done := 0
	for i := range result.Masters {
		if result.Masters[i].Set {
			done++
		}
	}
	need := 2
	if p.Seen.State != inspect.Holding { // it expired on two masters, so it has no quorum
		need = 1
	}
	if err != nil || result.Released || result.Set && done < need || !result.Set && result.Reason == "" {
		r.Fatalf("%s: %+v, %v", r.key, result, err)
	}
	if result.Set {
		r.set++
	}
	return result, said, true
}

// next takes the lock if it is free, and keeps it for the requested time.
func (r *ttlOfMasters) next(c redis.UniversalClient) int {
	taken, _ := c.SetNX(r.Context(), r.key, nextValue, time.Hour).Result()
	return map[bool]int{true: 1}[taken]
}

func (r *ttlOfMasters) check(i int, value string, least time.Duration, result Result) {
	if has, left := r.clients[i].Get(r.Context(), r.key).Val(), r.clients[i].PTTL(r.Context(), r.key).Val(); has != value || left < least {
		r.Fatalf("%s: master %d has %q for %v, not %q for %v; %+v", r.key, i, has, left, value, least, result)
	}
}

func (r *ttlOfMasters) duringARelease() {
	result, said, _ := r.race(time.Hour, func(c redis.UniversalClient) int {
		freed, _ := ownRelease.Run(r.Context(), c, []string{r.key}, ttlHolder).Int()
		return freed + r.next(c)
	})
	for i := range r.clients {
		if r.check(i, nextValue, 30*time.Minute, result); said[i] != 2 {
			r.Fatalf("%s: master %d was not freed by its holder; %+v", r.key, i, result)
		}
	}
}

func (r *ttlOfMasters) duringARenewal() {
	result, said, _ := r.race(time.Hour, func(c redis.UniversalClient) int {
		renewed, _ := ownRenewal.Run(r.Context(), c, []string{r.key}, ttlHolder, 2*time.Hour.Milliseconds()).Int()
		return renewed
	})
	for i := range r.clients {
		if r.check(i, ttlHolder, 9*time.Minute, result); said[i] != 1 || !result.Masters[i].Set {
			r.Fatalf("%s: master %d: renewed %d times; %+v", r.key, i, said[i], result)
		}
	}
}

func (r *ttlOfMasters) duringItsEnd() {
	result, said, ok := r.race(3*time.Millisecond, r.next)
	for i, c := range r.clients {
		switch has := c.Get(r.Context(), r.key).Val(); {
		case ok && said[i] == 1:
			r.check(i, nextValue, 30*time.Minute, result)
		case ok && result.Masters[i].Set:
			r.check(i, ttlHolder, 9*time.Minute, result)
		case has != "" && has != ttlHolder:
			r.Fatalf("%s: master %d has %q; %+v", r.key, i, has, result)
		}
		c.Del(r.Context(), r.key)
	}
}

// The TTL is set only where the seen holder still has the lock while it releases, renews or
// expires.
func TestTTLSafeInRaces(t *testing.T) {
	t.Parallel()
	servers := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	clients, releaser := onServers(t, servers...)
	r := &ttlOfMasters{T: t, clients: clients, releaser: releaser}
	for try := range *tries {
		r.key = fmt.Sprintf("lock:%d", try)
		r.duringARelease()
		for _, c := range clients {
			c.Del(t.Context(), r.key)
		}
		r.duringARenewal()
		r.duringItsEnd()
	}
	t.Logf("%d races, TTL set in %d", 3**tries, r.set)
}
