package lockops_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

const opMulti = 14

// If the caller gives up while a server hangs on the create request, Acquire returns at once. The
// node is removed as soon as the server answers.
func TestZ3_InterruptedCreateLeavesNothing(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		m := lockops.NewZKMutex(zkSession(t, p.addr()), path)
		release(t, acquire(t, m))
		p.mute.Store(opCreate)
		ctx := limited(t, 100*time.Millisecond)
		start := time.Now()
		_, err := m.Acquire(ctx)
		must.Be(t, err, context.DeadlineExceeded)
		must.True(t, time.Since(start) < 10*time.Second, "Acquire went on for", time.Since(start))
		p.mute.Store(0)
		p.cut()
		becomeEmpty(t, server, path)
	})
}

// Cancelled waits leave one watch, which still wakes the next waiter and is gone afterwards.
func TestZ8_ManyWaitsSetOneWatch(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		s := zkSession(t, server.Addr)
		for range 20 {
			ctx, cancel := context.WithCancel(within(t))
			_, got := mustQueue(t, ctx, mutexMaker(s, path))
			cancel()
			must.Be(t, (<-got).err, context.Canceled)
		}
		must.Equal(t, len(watchedBy(t, server, s)), 1, "watches")
		_, got := mustQueue(t, within(t), mutexMaker(s, path))
		release(t, holder)
		release(t, granted(t, got))
		must.Become(t, "no watch is left", func() bool { return len(watchedBy(t, server, s)) == 0 })
	})
}

// After a lost reply, a sync precedes the search for the node, since the server may lag.
func TestZ18_SearchesOnTheLeader(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
	m := lockops.NewZKMutex(zkSession(t, p.addr()), "/lock")
	release(t, acquire(t, m))
	p.asked()
	p.cutReply.Store(opCreate)
	release(t, acquire(t, m))
	ops := p.asked()
	i := slices.Index(ops, opSync)
	must.True(t, i >= 0 && i+1 < len(ops) && ops[i+1] == opList, "requests", ops, "have no sync before a listing")
}

// A hold survives repeated reconnects, and the expiry of its session is still reported.
func TestZ19_NoSessionChangeIsMissed(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	s := zkSession(t, p.addr())
	h := acquire(t, lockops.NewZKMutex(s, "/lock"))
	for range 4 {
		p.cut()
		must.Succeed(t, h.Extend(within(t)))
	}
	server.Expire(t, s.Conn().SessionID())
	awaitLoss(t, h)
	must.Contain(t, context.Cause(h.Context()).Error(), "expired", "cause")
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
	release(t, acquire(t, lockops.NewZKMutex(s, "/lock")))
}

// All readers behind a write are granted the lock together when it is released.
func TestZ22_ReadersAreGrantedTogether(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	s := zkSession(t, server.Addr)
	w := acquire(t, reentrantWriter(s, "/lock"))
	behind := make(chan lockops.Queue, 100)
	var waiting []<-chan acquired
	onBehind := lockops.OnBehind(func(q lockops.Queue) { behind <- q })
	for range 5 {
		_, got := mustQueue(t, within(t), reentrantMaker(s, "/lock", 'r', onBehind))
		waiting = append(waiting, got)
	}
	release(t, w)
	var holds []*lockops.Hold
	for len(holds) < len(waiting) {
		select {
		case a := <-waiting[len(holds)]:
			must.Succeed(t, a.err)
			holds = append(holds, a.h)
		case q := <-behind:
			must.Equal(t, q.Holder, w.Name(), "a reader waits for")
		}
	}
	release(t, holds...)
}

// While a waiter is cut off, its directory is created again and another client's node gets its
// name.
func TestZ17_ReusedNameIsNotMine(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	look := plain(t, server.Addr)
	sequential := lockops.WithRecipe("sequential")
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock", sequential))
	name, got := mustQueue(t, within(t), mutexMaker(zkSession(t, p.addr()), "/lock", sequential))
	p.blackHole.Store(true)
	deleteTree(t, look, "/lock")
	must.Have(look.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	takeName(t, look, holder.Name()) // another client queues and then holds
	takeName(t, look, name)
	must.Succeed(t, look.Delete("/lock/"+holder.Name(), -1))
	p.blackHole.Store(false)
	p.cut()
	must.Become(t, "the waiter queues again", func() bool { return len(children(t, server, "/lock")) == 2 })
	must.Equal(t, len(got), 0, "grants on another client's node")
	must.Succeed(t, look.Delete("/lock/"+name, -1))
	release(t, granted(t, got))
}

// The directory is created again, so a session's second hold has the name of its first. Each has
// its own token, and releasing the first spares the second's node.
func TestZ17_SameNamedHoldsStaySeparate(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	s := zkSession(t, p.addr())
	m := lockops.NewZKMutex(s, "/lock", lockops.WithRecipe("sequential"))
	first := acquire(t, m)
	deleteUnnoticed(t, server, p, s, first)
	second := acquire(t, m)
	must.Equal(t, second.Name(), first.Name(), "name of the second hold")
	tokensGrow(t, first, second)
	// The loss has not been reported yet, so the release itself must check whose node it is.
	must.Be(t, first.Release(within(t)), lockops.ErrLost, "release of the first")
	for range 100 { // meanwhile the second starts to watch its node, and must not share the first one's watch
		must.Be(t, second.Extend(within(t)), nil, "extend of the second")
	}
	release(t, second)
}

// takenName returns a hold whose node was deleted unnoticed, and whose name another client's node
// has now.
func takenName(t *testing.T) (h *lockops.Hold, look *zk.Conn) {
	server, p := behindProxy(t)
	s := zkSession(t, p.addr())
	h = acquire(t, lockops.NewZKMutex(s, "/lock", lockops.WithRecipe("sequential")))
	deleteUnnoticed(t, server, p, s, h)
	look = plain(t, server.Addr)
	must.Have(look.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	takeName(t, look, h.Name())
	return h, look
}

func TestZ17_ExtendKnowsItsOwnNode(t *testing.T) {
	t.Parallel()
	h, _ := takenName(t)
	must.Be(t, h.Extend(within(t)), lockops.ErrLost, "Extend on another client's node")
}

func TestZ17_ReleaseKnowsItsOwnNode(t *testing.T) {
	t.Parallel()
	h, look := takenName(t)
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "Release on another client's node")
	there, _, err := look.Exists("/lock/" + h.Name())
	must.True(t, there && err == nil, "another client's node exists", there, err)
}

// If the server never sends the event, the waiter lists the queue again after a while.
func TestLostWatchCostsNoTurn(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock"))
	second := zkSession(t, p.addr(), lockops.WithSessionTimeout(3*time.Second))
	_, got := mustQueue(t, within(t), mutexMaker(second, "/lock"))
	p.noEvents.Store(true)
	release(t, holder)
	release(t, granted(t, got))
}

// adopted is a session on a connection of the program itself.
func adopted(t testing.TB, addr string) (*lockops.ZKSession, *zk.Conn) {
	t.Helper()
	d := lockops.NewZKDialer(nil)
	conn, events, err := zk.Connect([]string{addr}, 20*time.Second, zk.WithDialer(d.Dial), zk.WithLogger(quiet{}))
	must.Succeed(t, err)
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	s := must.Have(lockops.AdoptZKConn(within(t), conn, d))(t)
	t.Cleanup(s.Close)
	return s, conn
}

// Locks work on an adopted connection, which stays open when their session is closed.
func TestAdoptedConnectionStaysOpen(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s, conn := adopted(t, server.Addr)
		release(t, acquire(t, lockops.NewZKMutex(s, path)))
		h := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		_, got := mustQueue(t, within(t), mutexMaker(s, path))
		release(t, h)
		granted(t, got)
		s.Close()
		names, _, err := conn.Children(path)
		must.Succeed(t, err)
		must.Same(t, names, nil, "children after Close")
		d := lockops.NewZKDialer(nil)
		ctx := limited(t, 50*time.Millisecond)
		_, err = lockops.AdoptZKConn(ctx, conn, d)
		must.True(t, err != nil && contains(err, "dialer"), "a connection of another dialer:", err)
		_, err = lockops.AdoptZKConn(within(t), conn, d, lockops.WithSessionTimeout(time.Second))
		must.Be(t, err, lockops.ErrOption, "WithSessionTimeout")
	})
}

// Each waiter watches its predecessor, not the holder.
func TestZ9_EachWatchesItsPredecessor(t *testing.T) {
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		before := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path)).Name()
		for range 4 {
			s := zkSession(t, server.Addr)
			ctx, cancel := context.WithCancel(within(t))
			name, got := mustQueue(t, ctx, mutexMaker(s, path))
			defer func() {
				cancel()
				<-got
			}()
			must.Same(t, watchedBy(t, server, s), []string{path + "/" + before}, "watches of", name)
			before = name
		}
	})
}

// The deletion is reported by the watch, since heartbeats get no answer here.
func TestDeletedNodeIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	s := zkSession(t, p.addr(), lockops.WithSessionTimeout(30*time.Second))
	p.mute.Store(opMulti)
	h := acquire(t, lockops.NewZKMutex(s, "/lock"))
	must.Become(t, "the hold watches its node", func() bool {
		// Without heartbeats, it lasts three quarters of the timeout.
		must.Succeed(t, context.Cause(h.Context()))
		return len(watchedBy(t, server, s)) == 1
	})
	must.Succeed(t, plain(t, server.Addr).Delete("/lock/"+h.Name(), -1))
	awaitLoss(t, h)
	must.Contain(t, context.Cause(h.Context()).Error(), "deleted", "cause")
}

// Without a GUID, the search for a lost node does not confuse it with the nodes of other holds, in
// this session or another.
func TestALostCreationSparesOtherHolds(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	s := zkSession(t, p.addr())
	sequential := lockops.WithRecipe("sequential")
	readers := []*lockops.Hold{
		acquire(t, reentrantReader(s, "/lock", sequential)),
		acquire(t, reentrantReader(zkSession(t, server.Addr), "/lock", sequential)),
	}
	p.cutReply.Store(opCreate)
	readers = append(readers, acquire(t, reentrantReader(s, "/lock", sequential)))
	for _, h := range readers {
		must.Be(t, h.Extend(within(t)), nil)
	}
	must.Equal(t, len(children(t, server, "/lock")), 3, "nodes")
	release(t, readers...)
}

// deleteUnnoticed deletes a hold's directory, while its session gets no events. The next node in a
// new directory gets the name of the hold's, and only the czxid tells the nodes apart.
func deleteUnnoticed(t *testing.T, server *servertest.ZooKeeper, p *proxy, s *lockops.ZKSession, h *lockops.Hold) {
	t.Helper()
	must.Become(t, "the holder watches its node", func() bool { return slices.Contains(watchedBy(t, server, s), "/lock/"+h.Name()) })
	p.noEvents.Store(true)
	deleteTree(t, plain(t, server.Addr), "/lock")
}

// takeName creates a node as another client would, which must get the given name.
func takeName(t *testing.T, look *zk.Conn, want string) {
	t.Helper()
	got := must.Have(look.Create("/lock/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)))(t)
	must.Equal(t, got, "/lock/"+want, "created")
}
