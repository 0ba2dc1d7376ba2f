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

func awaitEnd(t testing.TB, h *lockops.Hold, limit time.Duration) {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(limit):
		t.Fatalf("the hold did not end within %v", limit)
	}
}

// TestZ3_InterruptedCreateLeavesNothing: the caller gives up while the create request is under way, on a server that
// hangs. Acquire returns at once, and the node goes as soon as the server answers.
func TestZ3_InterruptedCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
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
		must.Become(t, "the node is gone", func() bool { return len(children(t, server, path)) == 0 })
	})
}

func deadlineOf(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline
}

// TestZ8_ManyWaitsSetOneWatch, which fires again after they have ended and is gone then.
func TestZ8_ManyWaitsSetOneWatch(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
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
		a := <-got
		must.Succeed(t, a.err)
		release(t, a.h)
		must.Become(t, "no watch is left", func() bool { return len(watchedBy(t, server, s)) == 0 })
	})
}

// TestZ18_SearchesOnTheLeader: after a lost answer the own node is searched behind a sync, since the server may lag.
func TestZ18_SearchesOnTheLeader(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	m := lockops.NewZKMutex(zkSession(t, p.addr()), "/lock")
	release(t, acquire(t, m))
	p.asked()
	p.cutReply.Store(opCreate)
	release(t, acquire(t, m))
	ops := p.asked()
	if i := slices.Index(ops, opSync); i < 0 || i+1 >= len(ops) || ops[i+1] != opList {
		t.Errorf("asked %v: no sync before a listing", ops)
	}
}

// However often the connection breaks, the hold outlives it, and its
// end is reported.
func TestZ19_NoSessionChangeIsMissed(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	s := zkSession(t, p.addr())
	h := acquire(t, lockops.NewZKMutex(s, "/lock"))
	for range 4 {
		p.cut()
		must.Succeed(t, h.Extend(within(t)))
	}
	server.Expire(t, s.Conn().SessionID())
	awaitEnd(t, h, 60*time.Second)
	if cause := context.Cause(h.Context()); !contains(cause, "expired") {
		t.Errorf("lost because %v", cause)
	}
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "release")
	release(t, acquire(t, lockops.NewZKMutex(s, "/lock")))
}

// TestZ22_ReadersAreGrantedTogether when the write before them goes.
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
				t.Fatalf("a reader waits for another: %+v", q)
			}
		}
	}
	for _, h := range holds {
		release(t, h)
	}
}

// A directory is made again while a waiter is cut off, and its name comes again.
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
	must.Become(t, "it queues again", func() bool { return len(children(t, server, "/lock")) == 2 })
	if len(got) > 0 {
		t.Fatal("granted on somebody else's node")
	}
	must.Succeed(t, look.Delete("/lock/"+name, -1))
	a := <-got
	must.Succeed(t, a.err)
	release(t, a.h)
}

// Within one session a second hold has the name of the first, whose directory was made
// again; each has its own token, and the release of the first leaves the second's node alone.
func TestZ17_SameNamedHoldsStaySeparate(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	look := plain(t, server.Addr)
	p := startProxy(t, server.Addr)
	m := lockops.NewZKMutex(zkSession(t, p.addr()), "/lock", lockops.WithRecipe("sequential"))
	first := acquire(t, m)
	p.noEvents.Store(true) // the deletion's event is withheld
	for _, path := range []string{"/lock/" + first.Name(), "/lock"} {
		must.Succeed(t, look.Delete(path, -1))
	}
	second := acquire(t, m)
	if second.Name() != first.Name() {
		t.Fatalf("%q after %q", second.Name(), first.Name())
	}
	a, okA := first.Token()
	b, okB := second.Token()
	if !okA || !okB || a >= b {
		t.Errorf("tokens %d, %d", a, b)
	}
	// Its loss has not been reported yet: the release itself has to check whose node it is.
	must.Be(t, first.Release(within(t)), lockops.ErrLost, "release of the first")
	must.Be(t, second.Extend(within(t)), nil, "extend of the second")
	release(t, second)
}

// takenName is a hold whose node was deleted, while no event came through, and whose name a node of somebody
// else has now: only its czxid distinguishes them.
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
	must.Be(t, h.Extend(within(t)), lockops.ErrLost, "extended by somebody else's node")
}

func TestZ17_ReleaseKnowsItsOwnNode(t *testing.T) {
	t.Parallel()
	h, look := takenName(t)
	must.Be(t, h.Release(within(t)), lockops.ErrLost, "released somebody else's node")
	if there, _, err := look.Exists("/lock/" + h.Name()); !there || err != nil {
		t.Errorf("somebody else's node is there: %v, %v", there, err)
	}
}

// A server never sends the event; the waiter looks again on its own.
func TestLostWatchCostsNoTurn(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock"))
	_, got := queueUp(t, within(t), mutexOn(zkSession(t, p.addr(), lockops.WithSessionTimeout(3*time.Second)), "/lock"))
	p.noEvents.Store(true)
	release(t, holder)
	select {
	case a := <-got:
		must.Succeed(t, a.err)
		release(t, a.h)
	case <-time.After(60 * time.Second):
		t.Fatal("waits for ever")
	}
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

// TestAnAdoptedConnectionStaysItsOwners: locks work on it, and it goes on when their session is closed.
func TestAnAdoptedConnectionStaysItsOwners(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
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
			t.Errorf("%q, %v", names, err)
		}
		d := lockops.NewZKDialer(nil)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := lockops.AdoptZKConn(ctx, conn, d); err == nil || !contains(err, "dialer") {
			t.Errorf("a connection of another dialer: %v", err)
		}
		if _, err := lockops.AdoptZKConn(within(t), conn, d, lockops.WithSessionTimeout(time.Second)); !errors.Is(err, lockops.ErrOption) {
			t.Errorf("a session timeout: %v, want ErrOption", err)
		}
	})
}

// TestZ9_EachWatchesItsPredecessor, not the holder.
func TestZ9_EachWatchesItsPredecessor(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
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

// It is reported without a heartbeat: those stay unanswered.
func TestDeletedNodeIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	s := zkSession(t, p.addr(), lockops.WithSessionTimeout(30*time.Second))
	p.mute.Store(opMulti)
	h := acquire(t, lockops.NewZKMutex(s, "/lock"))
	must.Become(t, "it watches its node", func() bool {
		if err := h.Context().Err(); err != nil { // without its heartbeats it lasts three quarters of the timeout
			t.Fatalf("it ends before it watches its node: %v", context.Cause(h.Context()))
		}
		return len(watchedBy(t, server, s)) == 1
	})
	must.Succeed(t, plain(t, server.Addr).Delete("/lock/"+h.Name(), -1))
	awaitEnd(t, h, 60*time.Second)
	if cause := context.Cause(h.Context()); !contains(cause, "deleted") {
		t.Errorf("lost because %v", cause)
	}
}

// TestALostCreationSparesOtherHolds: without a GUID, the node of a lost creation is distinguished from those
// of other holds, of this session and of others.
func TestALostCreationSparesOtherHolds(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
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

// TestCloseLeavesNoWatch: a session that is closed while it holds and waits has no watches on the server.
func TestCloseLeavesNoWatch(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
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
