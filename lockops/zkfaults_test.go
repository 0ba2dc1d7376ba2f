package lockops_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// The opcodes whose replies the tests cut.
const (
	opSync    = 9
	opList    = 12 // getChildren2
	opCreate  = 15 // create2
	opGetData = 4
	opDelete  = 2
)

// If the reply to the create request is lost, the node is found again or removed.
func TestZ1_LostCreateReplyLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	for _, recipe := range []string{"curator", "kazoo", "go-zookeeper", "sequential"} {
		t.Run(recipe, func(t *testing.T) {
			eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
				p := startProxy(t, server.Addr)
				m := lockops.NewZKMutex(zkSession(t, p.addr()), path, lockops.WithRecipe(recipe))
				release(t, acquire(t, m)) // creates the directory
				p.cutReply.Store(opCreate)
				h := acquire(t, m)
				must.Same(t, children(t, server, path), []string{h.Name()}, "nodes")
				release(t, h)
				must.Same(t, children(t, server, path), nil, "nodes left")
			})
		})
	}
}

// The caller gives up before it is known whether the node exists. The node is removed all the same.
func TestZ2_CancelledWhileReplyIsLost(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		m := lockops.NewZKMutex(zkSession(t, p.addr()), path)
		release(t, acquire(t, m))
		for range 3 {
			ctx := limited(t, time.Millisecond)
			p.cutReply.Store(opCreate)
			h, err := m.Acquire(ctx)
			releaseUnless(t, h, err, context.DeadlineExceeded)
		}
		p.cutReply.Store(0)
		becomeEmpty(t, server, path)
	})
}

// A waiter whose session expires queues again in the next session.
func TestZ4_WaiterRequeuesAfterSessionExpiry(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	path := servertest.UniquePath(t)
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
	before := server.Embedded.Sessions()
	s := zkSession(t, server.Addr)
	name, result := mustQueue(t, within(t), mutexMaker(s, path))
	for _, id := range server.Embedded.Sessions() {
		if id != before[0] {
			must.Succeed(t, server.Embedded.ExpireSession(id))
		}
	}
	must.Become(t, "the waiter queues again", func() bool {
		got := children(t, server, path)
		return len(got) == 2 && got[0] != name && got[1] != name
	})
	release(t, holder)
	a := granted(t, result)
	must.True(t, a.Name() != name, "granted on the node of the expired session")
	release(t, a)
}

// A waiter whose node an operator deletes is not granted the lock, but queues again.
func TestZ5_OwnNodeDeletedWhileWaiting(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s := zkSession(t, server.Addr)
		a := acquire(t, lockops.NewZKMutex(s, path))
		b, gotB := mustQueue(t, within(t), mutexMaker(s, path))
		_, gotC := mustQueue(t, within(t), mutexMaker(s, path))
		must.Succeed(t, plain(t, server.Addr).Delete(path+"/"+b, -1))
		release(t, a)
		c := granted(t, gotC) // C is next, since B has to queue again
		staysWaiting(t, gotB)
		release(t, c)
		again := granted(t, gotB)
		must.True(t, again.Name() != b, "B was granted the lock on its deleted node")
		release(t, again)
	})
}

// A waiter whose predecessor vanishes is not granted the lock while the holder has it.
func TestZ6_MiddleWaiterDies(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s := zkSession(t, server.Addr)
		a := acquire(t, lockops.NewZKMutex(s, path))
		ctxB, dieB := context.WithCancel(within(t))
		_, gotB := mustQueue(t, ctxB, mutexMaker(s, path))
		_, gotC := mustQueue(t, within(t), mutexMaker(s, path))
		dieB()
		must.Be(t, (<-gotB).err, context.Canceled, "B")
		must.Equal(t, len(children(t, server, path)), 2, "nodes")
		staysWaiting(t, gotC)
		release(t, a)
		release(t, granted(t, gotC))
	})
}

// If the predecessor vanishes between the listing and the watch, the waiter lists again at once.
// Without a watch it would wait for three session timeouts.
func TestZ7_PredecessorGoneBeforeWatchIsNoticed(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		p := startProxy(t, server.Addr)
		released := false
		p.before = func(op int32) {
			if op == opGetData && !released {
				released = true
				must.Be(t, holder.Release(within(t)), nil)
			}
		}
		release(t, acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(40*time.Second)), path)))
		must.True(t, released, "granted before the holder released the lock")
	})
}

// If the reply to the delete request is lost, the node is removed all the same.
func TestZ10_ReleaseSurvivesALostReply(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr()), path))
		p.cutReply.Store(opDelete)
		release(t, h)
		must.Same(t, children(t, server, path), nil, "nodes left")
		h = acquire(t, lockops.NewZKMutex(zkSession(t, p.addr()), path))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.cut()
		isAny(t, h.Release(ctx), nil, context.Canceled)
		becomeEmpty(t, server, path)
	})
}

// An Acquire cancelled at any moment, waiting or not, leaves no node.
func TestZ11_CancelLeavesNothing(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s := zkSession(t, server.Addr)
		m := lockops.NewZKMutex(s, path)
		for i := range 100 {
			var holder *lockops.Hold
			if i%2 == 0 {
				holder = acquire(t, m)
			}
			ctx := limited(t, time.Duration(rand.N(2000))*time.Microsecond)
			h, err := m.Acquire(ctx)
			releaseUnless(t, h, err, context.DeadlineExceeded)
			if holder != nil {
				release(t, holder)
			}
			becomeEmpty(t, server, path)
		}
	})
}

// When the holder is cut off from all servers, its hold ends before the next contender is granted
// the lock.
func TestZ13_LossIsReportedBeforeNextGrant(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(6*time.Second)), path))
		deadline, ok := h.Deadline()
		must.True(t, ok && time.Until(deadline) <= 6*time.Second, "deadline in", time.Until(deadline), ok)
		lossPrecedesGrant(t, p, h, mutexMaker(zkSession(t, server.Addr), path))
	})
}

// A hold survives a reconnect within the session timeout.
func TestZ12_ReconnectKeepsTheLock(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr()), path))
		p.cut()
		must.Be(t, h.Extend(within(t)), nil)
		must.Be(t, context.Cause(h.Context()), nil, "cause")
		release(t, h)
	})
}

// The error names the servers and the reason.
func TestNewZKSessionExplainsFailure(t *testing.T) {
	t.Parallel()
	ctx := limited(t, 8*time.Second)
	_, err := lockops.NewZKSession(ctx, []string{"127.0.0.1:1"})
	must.Be(t, err, context.DeadlineExceeded)
	must.True(t, contains(err, "127.0.0.1:1", "refused"), err)
}

// contains reports whether an error's text has all parts.
func contains(err error, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(fmt.Sprint(err), p) })
}

// staysWaiting checks that an Acquire is not granted for a moment.
func staysWaiting(t *testing.T, got <-chan acquired) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // nothing marks the absence of a grant
	must.Equal(t, len(got), 0, "grants while the lock is held")
}

// lossPrecedesGrant cuts a holder off from all servers, and checks that its hold ends before the
// next contender is granted the lock.
func lossPrecedesGrant(t *testing.T, p *proxy, h *lockops.Hold, next maker) {
	t.Helper()
	_, got := mustQueue(t, within(t), next)
	p.blackHole.Store(true)
	second := granted(t, got)
	must.Be(t, context.Cause(h.Context()), lockops.ErrLost, "cause at the next grant")
	p.blackHole.Store(false)
	p.cut()
	release(t, second)
}

// slowClose closes slowly, as TLS does when its peer does not read.
type slowClose struct{ net.Conn }

func (c slowClose) Close() error {
	time.Sleep(50 * time.Millisecond) // longer than a redial takes
	return c.Conn.Close()
}

// A waiter's watch is set again on the next connection, however long the old one takes to close.
func TestAWaiterOutlivesAReconnect(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		s := zkSession(t, p.addr(), lockops.WithSessionTimeout(20*time.Second),
			lockops.WithDialContext(func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				return slowClose{conn}, err
			}))
		_, got := mustQueue(t, within(t), mutexMaker(s, path))
		p.cut()
		time.Sleep(200 * time.Millisecond) // the server drops the old watch with its connection
		must.Become(t, "the waiter watches again", func() bool { return len(watchedBy(t, server, s)) != 0 })
		release(t, holder)
		release(t, granted(t, got))
	})
}

// A directory whose counter is used up repeats its last number, so it cannot order contenders.
func TestADirectoryWithoutNumbersIsRefused(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Numbers: map[string]int32{"/q": math.MaxInt32 - 1, "/s": math.MaxInt32 - 1}})
	s := zkSession(t, server.Addr)
	for path, recipe := range map[string]string{"/q": "curator", "/s": "sequential"} {
		l := lockops.NewZKMutex(s, path, lockops.WithRecipe(recipe))
		h := acquire(t, l) // gets the second-to-last number
		for range 2 {
			_, err := l.Acquire(within(t))
			must.True(t, err != nil && contains(err, "another directory"), recipe, err)
		}
		release(t, h)
		_, err := l.TryAcquire(within(t))
		must.True(t, err != nil && contains(err, "another directory"), recipe, "after the release", err)
		must.Same(t, children(t, server, path), nil, recipe, "nodes left")
	}
}

// A node of the program itself, named like ours except for the number, survives a search for our
// lost node. That holds whether ours was created or not.
func TestAnAdoptedConnectionsNodesAreSpared(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		for _, created := range []bool{true, false} {
			path := servertest.UniquePath(t) + fmt.Sprint(created)
			p := startProxy(t, server.Addr)
			s, conn := adopted(t, p.addr())
			l := mutexMaker(s, path, lockops.WithRecipe("sequential"))
			release(t, acquire(t, l()))
			own, err := conn.Create(path+"/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			must.Succeed(t, err)
			lost := &p.cutRequest
			if created {
				lost = &p.cutReply
			}
			lost.Store(opCreate)
			_, got := mustQueue(t, within(t), l)
			if names := children(t, server, path); len(names) != 2 || path+"/"+names[0] != own {
				t.Fatalf("created %v: queue %q, want %s and one of ours", created, names, own)
			}
			must.Succeed(t, conn.Delete(own, -1))
			release(t, granted(t, got))
		}
	})
}

// The program's watch on a node survives when our waiter gives up its watch on the same node.
func TestAnAdoptedConnectionsWatchesAreSpared(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		h := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		s, conn := adopted(t, server.Addr)
		_, _, fired, err := conn.GetW(path + "/" + h.Name())
		must.Succeed(t, err)
		ctx, cancel := context.WithCancel(within(t))
		_, got := mustQueue(t, ctx, mutexMaker(s, path))
		cancel()
		must.Be(t, (<-got).err, context.Canceled)
		s.Close()
		release(t, h)
		lockops.Await(t, "the program's watch fires", fired)
	})
}

// While a session searches for a lost node, an Acquire in another directory still ends with its
// context.
func TestASearchDelaysNoAcquire(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
	s := zkSession(t, p.addr(), lockops.WithSessionTimeout(40*time.Second))
	lost, other := lockops.NewZKMutex(s, "/lost", lockops.WithRecipe("sequential")), lockops.NewZKMutex(s, "/other", lockops.WithRecipe("sequential"))
	for _, l := range []lockops.Locker{lost, other} {
		release(t, acquire(t, l))
	}
	ctx, cancel := context.WithCancel(within(t))
	p.asked()
	p.mute.Store(opSync)
	p.cutReply.Store(opCreate)
	got := begin(ctx, lost)
	must.Become(t, "the search has started", func() bool { return slices.Contains(p.asked(), opSync) })
	short := limited(t, 100*time.Millisecond)
	start := time.Now()
	if h, err := other.Acquire(short); err == nil {
		release(t, h)
	}
	must.True(t, time.Since(start) < 10*time.Second, "an Acquire with a timeout of 100 ms returned after", time.Since(start))
	cancel()
	select {
	case a := <-got:
		must.Be(t, a.err, context.Canceled)
	case <-time.After(10 * time.Second): // the connection is given up after 13 s
		t.Error("a cancelled Acquire waits for the search")
	}
	p.mute.Store(0)
	p.cut()
}

// Extend returns when the hold is lost, even if no server answers and its context has not ended.
func TestExtendReturnsOnLoss(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{TickTime: 500 * time.Millisecond})
	p := startProxy(t, server.Addr)
	h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(5*time.Second)), "/lock"))
	p.blackHole.Store(true)
	must.Be(t, returned(t, "Extend", func() error { return h.Extend(within(t)) }), lockops.ErrLost)
	p.blackHole.Store(false)
}
