package lockops_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// TestDeadlineCountsFromTheSending: with answers that are late, a hold's deadline is no later for that, and it is three
// quarters of the session timeout.
func TestDeadlineCountsFromTheSending(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	const timeout, late = 20 * time.Second, 300 * time.Millisecond
	m := lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock")
	release(t, acquire(t, m))
	p.delay.Store(int64(late))
	h := acquire(t, m)
	deadline, ok := h.Deadline()
	if left := time.Until(deadline); !ok || left > timeout*3/4-late*3/2 || left < 0 {
		t.Errorf("%v left, %v", left, ok)
	}
	p.delay.Store(0)
	release(t, h)
}

// TestHeartbeatsKeepAHold beyond the session timeout, few of them, and none if nothing is held.
func TestHeartbeatsKeepAHold(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	const timeout = 8 * time.Second // a busy machine may be late by half of it
	m := lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock")
	h := acquire(t, m)
	first, _ := h.Deadline()
	must.Become(t, "the deadline moved on", func() bool {
		now, ok := h.Deadline()
		return !ok || now.Sub(first) > timeout
	})
	if h.Context().Err() != nil {
		t.Fatal(context.Cause(h.Context()))
	}
	beats := 0
	for _, op := range p.asked() {
		if op == opMulti {
			beats++
		}
	}
	if beats < 4 || beats > 14 {
		t.Errorf("%d heartbeats in a little over a session timeout, want 8 in one", beats)
	}
	release(t, h)
}

// TestOnlyAQuorumKeepsAHold: a server goes on to answer everything but what a quorum has to commit. The hold
// is lost within three quarters of the session timeout, before the session can expire.
func TestOnlyAQuorumKeepsAHold(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	const timeout = 4 * time.Second
	s := zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout))
	h := acquire(t, lockops.NewZKMutex(s, "/lock"))
	p.mute.Store(opMulti)
	muted := time.Now()
	stop := make(chan struct{})
	var reads sync.WaitGroup
	reads.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_, _, _ = s.Conn().Exists("/lock") // it fails when the connection is made again
			}
		}
	})
	must.Become(t, "the end of the hold", func() bool {
		deadline, ok := h.Deadline()
		if late := deadline.Sub(muted); ok && late > timeout*3/4 {
			t.Errorf("the lock is held until %v after the last commit", late)
			return true
		}
		return !ok
	})
	close(stop)
	reads.Wait()
	p.mute.Store(0)
	awaitEnd(t, h, 60*time.Second)
	must.Be(t, context.Cause(h.Context()), lockops.ErrLost, "cause")
}

// The first one granted after a long wait without any change of
// its own is granted only when a quorum has committed that its node is there.
func TestLongWaitProvesSessionFirst(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock"))
	const timeout = 8 * time.Second // a busy machine may be late by a quarter of it
	_, got := queueUp(t, within(t), mutexOn(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock"))
	p.asked()
	select {
	case <-holder.Context().Done():
		t.Fatal("lost")
	case <-time.After(timeout): // its creation proves nothing any more
	}
	must.True(t, !slices.Contains(p.asked(), opMulti), "a heartbeat although nothing is held")
	release(t, holder)
	a := <-got
	must.Succeed(t, a.err)
	if deadline, ok := a.h.Deadline(); !ok || time.Until(deadline) < timeout/4 {
		t.Errorf("granted with a deadline in %v", time.Until(deadline))
	}
	must.True(t, slices.Contains(p.asked(), opMulti), "granted without a proof")
	release(t, a.h)
}

// TestGrantsWhileSessionsEnd: sessions expire at any moment of an Acquire and of a hold.
func TestGrantsWhileSessionsEnd(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	s := zkSession(t, server.Addr)
	m := lockops.NewZKMutex(s, "/lock")
	release(t, acquire(t, m))
	lost := 0
	for i := range 60 {
		var expiring sync.WaitGroup
		expiring.Go(func() {
			for range 3 { // also while it connects again
				time.Sleep(time.Duration(i) * 100 * time.Microsecond)
				for _, id := range server.Embedded.Sessions() {
					_ = server.Embedded.ExpireSession(id) // it may be gone
				}
			}
		})
		switch err := acquire(t, m).Release(within(t)); {
		case errors.Is(err, lockops.ErrLost):
			lost++
		case err != nil:
			t.Error(err)
		}
		expiring.Wait()
	}
	t.Logf("%d of 60 holds were lost", lost)
	release(t, acquire(t, m))
}

// TestCloseEndsAnAcquire: Close ends waits and holds, and leaves nothing. A waiter of the same session is
// first in the queue as soon as the hold's node is removed, and must not be granted the lock then.
func TestCloseEndsAnAcquire(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	for range 10 {
		closeEndsAnAcquire(t, server, zkSession(t, server.Addr))
		s, _ := adopted(t, server.Addr)
		closeEndsAnAcquire(t, server, s)
	}
}

func closeEndsAnAcquire(t *testing.T, server *servertest.ZooKeeper, s *lockops.ZKSession) {
	t.Helper()
	h := acquire(t, lockops.NewZKMutex(s, "/lock"))
	_, got := queueUp(t, within(t), mutexOn(s, "/lock"))
	s.Close()
	must.Be(t, (<-got).err, lockops.ErrClosed, "the waiter")
	if cause := context.Cause(h.Context()); !errors.Is(cause, lockops.ErrLost) || !errors.Is(cause, lockops.ErrClosed) {
		t.Errorf("the holder: %v, want ErrLost and ErrClosed", cause)
	}
	if _, err := lockops.NewZKMutex(s, "/lock").Acquire(within(t)); !errors.Is(err, lockops.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if left := children(t, server, "/lock"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestNoHeartbeatsWithoutAHold: none after the last was released.
func TestNoHeartbeatsWithoutAHold(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	p := startProxy(t, server.Addr)
	const timeout = 20 * time.Second
	release(t, acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock")))
	p.asked() // until now: on a busy machine it was held for longer than one heartbeat takes to come
	other := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr, lockops.WithSessionTimeout(timeout)), "/other"))
	first, _ := other.Deadline()
	must.Become(t, "two heartbeats elsewhere", func() bool {
		now, ok := other.Deadline()
		return !ok || now.Sub(first) > timeout/8
	})
	release(t, other)
	if asked := p.asked(); slices.Contains(asked, opMulti) {
		t.Errorf("asked %v after the release", asked)
	}
}
