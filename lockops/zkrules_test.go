package lockops_test

import (
	"context"
	"errors"
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
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		p := startProxy(t, server.Addr)
		m := lockops.NewZKMutex(zkSession(t, p.addr()), path)
		release(t, acquire(t, m))
		p.mute.Store(opCreate)
		ctx, cancel := context.WithTimeout(within(t), 100*time.Millisecond)
		defer cancel()
		_, err := m.Acquire(ctx)
		late := time.Since(deadlineOf(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || late > 10*time.Second {
			t.Errorf("%v, %v after its context ended", err, late)
		}
		p.mute.Store(0)
		p.cut()
		becomeEmpty(t, server, path)
	})
}

func deadlineOf(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline
}

// Cancelled waits leave one watch, which still wakes the next waiter and is gone afterwards.
func TestZ8_ManyWaitsSetOneWatch(t *testing.T) {
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		s := zkSession(t, server.Addr)
		for range 20 {
			ctx, cancel := context.WithCancel(within(t))
			_, got := queueUp(t, ctx, mutexOn(s, path))
			cancel()
			if a := <-got; !errors.Is(a.err, context.Canceled) {
				t.Fatal(a.err)
			}
		}
		if watched := watchedBy(t, server, s); len(watched) != 1 {
			t.Errorf("watches %q, want one node", watched)
		}
		_, got := queueUp(t, within(t), mutexOn(s, path))
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
	if i := slices.Index(ops, opSync); i < 0 || i+1 >= len(ops) || ops[i+1] != opList {
		t.Errorf("requests %v have no sync before a listing", ops)
	}
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
	if cause := context.Cause(h.Context()); !contains(cause, "expired") {
		t.Errorf("cause %v, want an expired session", cause)
	}
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
	release(t, acquire(t, lockops.NewZKMutex(s, "/lock")))
}

// All readers behind a write are granted the lock together when it is released.
func TestZ22_ReadersAreGrantedTogether(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	s := zkSession(t, server.Addr)
	w := acquire(t, writer(s, "/lock"))
	behind := make(chan lockops.Queue, 100)
	var waiting []<-chan acquired
	for range 5 {
		_, got := queueUp(t, within(t), side(s, "/lock", 'r', lockops.OnBehind(func(q lockops.Queue) { behind <- q })))
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
			if q.Holder != w.Name() {
				t.Fatalf("a reader waits for another one: %+v", q)
			}
		}
	}
	for _, h := range holds {
		release(t, h)
	}
}

// While a waiter is cut off, its directory is created again and another client's node gets its
// name.
func TestZ17_ReusedNameIsNotMine(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	look := plain(t, server.Addr)
	p := startProxy(t, server.Addr)
	sequential := lockops.WithRecipe("sequential")
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock", sequential))
	s := zkSession(t, p.addr())
	name, got := queueUp(t, within(t), mutexOn(s, "/lock", sequential))
	p.blackHole.Store(true)
	for _, path := range []string{"/lock/" + holder.Name(), "/lock/" + name, "/lock"} {
		must.Succeed(t, look.Delete(path, -1))
	}
	must.Have(look.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	for _, want := range []string{holder.Name(), name} { // another client queues and then holds
		if got, err := look.Create("/lock/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)); err != nil || got != "/lock/"+want {
			t.Fatalf("created %q, %v; want %q again", got, err, want)
		}
	}
	must.Succeed(t, look.Delete("/lock/"+holder.Name(), -1))
	p.blackHole.Store(false)
	p.cut()
	must.Become(t, "the waiter queues again", func() bool { return len(children(t, server, "/lock")) == 2 })
	if len(got) > 0 {
		t.Fatal("granted on another client's node")
	}
	must.Succeed(t, look.Delete("/lock/"+name, -1))
	release(t, granted(t, got))
}

// The directory is created again, so a session's second hold has the name of its first. Each has
// its own token, and releasing the first spares the second's node.
func TestZ17_SameNamedHoldsStaySeparate(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	look := plain(t, server.Addr)
	p := startProxy(t, server.Addr)
	s := zkSession(t, p.addr())
	m := lockops.NewZKMutex(s, "/lock", lockops.WithRecipe("sequential"))
	first := acquire(t, m)
	must.Become(t, "the holder watches its node", func() bool { return slices.Contains(watchedBy(t, server, s), "/lock/"+first.Name()) })
	p.noEvents.Store(true) // the deletion's event is withheld
	for _, path := range []string{"/lock/" + first.Name(), "/lock"} {
		must.Succeed(t, look.Delete(path, -1))
	}
	second := acquire(t, m)
	if second.Name() != first.Name() {
		t.Fatalf("second hold %q, want the name %q again", second.Name(), first.Name())
	}
	a, okA := first.Token()
	b, okB := second.Token()
	if !okA || !okB || a >= b {
		t.Errorf("tokens %d and %d, want the second to be higher", a, b)
	}
	// The loss has not been reported yet, so the release itself must check whose node it is.
	must.Be(t, first.Release(within(t)), lockops.ErrLost, "release of the first")
	for range 100 { // meanwhile the second starts to watch its node, and must not share the first one's watch
		must.Be(t, second.Extend(within(t)), nil, "extend of the second")
	}
	release(t, second)
}

// takenName returns a hold whose node was deleted unnoticed, and whose name another client's node
// has now. Only the czxid tells the nodes apart.
func takenName(t *testing.T) (h *lockops.Hold, look *zk.Conn) {
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	look = plain(t, server.Addr)
	p := startProxy(t, server.Addr)
	s := zkSession(t, p.addr())
	h = acquire(t, lockops.NewZKMutex(s, "/lock", lockops.WithRecipe("sequential")))
	must.Become(t, "the holder watches its node", func() bool { return slices.Contains(watchedBy(t, server, s), "/lock/"+h.Name()) })
	p.noEvents.Store(true)
	for _, path := range []string{"/lock/" + h.Name(), "/lock"} {
		must.Succeed(t, look.Delete(path, -1))
	}
	must.Have(look.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	if got, err := look.Create("/lock/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)); err != nil || got != "/lock/"+h.Name() {
		t.Fatalf("created %q, %v; want %q again", got, err, h.Name())
	}
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
	if there, _, err := look.Exists("/lock/" + h.Name()); !there || err != nil {
		t.Errorf("another client's node exists: %v, %v", there, err)
	}
}

// If the server never sends the event, the waiter lists the queue again after a while.
func TestLostWatchCostsNoTurn(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock"))
	_, got := queueUp(t, within(t), mutexOn(zkSession(t, p.addr(), lockops.WithSessionTimeout(3*time.Second)), "/lock"))
	p.noEvents.Store(true)
	release(t, holder)
	release(t, granted(t, got))
}

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
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s, conn := adopted(t, server.Addr)
		release(t, acquire(t, lockops.NewZKMutex(s, path)))
		h := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path))
		_, got := queueUp(t, within(t), mutexOn(s, path))
		release(t, h)
		if a := <-got; a.err != nil {
			t.Fatal(a.err)
		}
		s.Close()
		if names, _, err := conn.Children(path); err != nil || len(names) > 0 {
			t.Errorf("children %q, %v after Close", names, err)
		}
		d := lockops.NewZKDialer(nil)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := lockops.AdoptZKConn(ctx, conn, d); err == nil || !contains(err, "dialer") {
			t.Errorf("a connection of another dialer: %v, want an error about the dialer", err)
		}
		if _, err := lockops.AdoptZKConn(within(t), conn, d, lockops.WithSessionTimeout(time.Second)); !errors.Is(err, lockops.ErrOption) {
			t.Errorf("WithSessionTimeout: %v, want ErrOption", err)
		}
	})
}

// Each waiter watches its predecessor, not the holder.
func TestZ9_EachWatchesItsPredecessor(t *testing.T) {
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		before := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), path)).Name()
		for range 4 {
			s := zkSession(t, server.Addr)
			ctx, cancel := context.WithCancel(within(t))
			name, got := queueUp(t, ctx, mutexOn(s, path))
			defer func() {
				cancel()
				<-got
			}()
			if watched := watchedBy(t, server, s); len(watched) != 1 || watched[0] != path+"/"+before {
				t.Errorf("%s watches %q, want %s", name, watched, before)
			}
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
		if err := h.Context().Err(); err != nil { // without heartbeats it lasts three quarters of the timeout
			t.Fatalf("the hold ended before it watched its node: %v", context.Cause(h.Context()))
		}
		return len(watchedBy(t, server, s)) == 1
	})
	must.Succeed(t, plain(t, server.Addr).Delete("/lock/"+h.Name(), -1))
	awaitLoss(t, h)
	if cause := context.Cause(h.Context()); !contains(cause, "deleted") {
		t.Errorf("cause %v, want a deleted node", cause)
	}
}

// Without a GUID, the search for a lost node does not confuse it with the nodes of other holds, in
// this session or another.
func TestALostCreationSparesOtherHolds(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	s := zkSession(t, p.addr())
	sequential := lockops.WithRecipe("sequential")
	readers := []*lockops.Hold{
		acquire(t, reader(s, "/lock", sequential)), acquire(t, reader(zkSession(t, server.Addr), "/lock", sequential)),
	}
	p.cutReply.Store(opCreate)
	readers = append(readers, acquire(t, reader(s, "/lock", sequential)))
	for _, h := range readers {
		must.Be(t, h.Extend(within(t)), nil)
	}
	must.Equal(t, len(children(t, server, "/lock")), 3, "nodes")
	for _, h := range readers {
		release(t, h)
	}
}

// A session closed while it holds and waits leaves no watches on the server.
func TestCloseLeavesNoWatch(t *testing.T) {
	t.Parallel()
	eachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper, path string) {
		s := zkSession(t, server.Addr)
		acquire(t, lockops.NewZKMutex(s, path))
		_, got := queueUp(t, within(t), mutexOn(s, path))
		must.Become(t, "the hold's node is watched", func() bool { return len(watchedBy(t, server, s)) > 0 })
		id := s.Conn().SessionID()
		s.Close()
		must.Be(t, (<-got).err, lockops.ErrClosed)
		must.Become(t, "no watch is left", func() bool { return len(watchedBySession(t, server, id)) == 0 })
	})
}
