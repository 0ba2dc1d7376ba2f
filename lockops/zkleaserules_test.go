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

// A hold's deadline is three quarters of the session timeout after its request was sent, however
// late the answer is.
func TestDeadlineCountsFromSendTime(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
	const timeout, late = 20 * time.Second, 300 * time.Millisecond
	m := lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock")
	release(t, acquire(t, m))
	p.delay.Store(int64(late))
	h := acquire(t, m)
	deadline, ok := h.Deadline()
	if left := time.Until(deadline); !ok || left > timeout*3/4-late*3/2 || left < 0 {
		t.Errorf("deadline in %v (%v)", left, ok)
	}
	p.delay.Store(0)
	release(t, h)
}

// A few heartbeats keep a hold beyond the session timeout.
func TestHeartbeatsKeepAHold(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
	const timeout = 8 * time.Second // a busy machine may be late by half of it
	m := lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock")
	h := acquire(t, m)
	first, _ := h.Deadline()
	must.Become(t, "the deadline has moved", func() bool {
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
		t.Errorf("%d heartbeats in a little over a session timeout, want about 8", beats)
	}
	release(t, h)
}

// If only requests that need a quorum get no answer, the hold is lost within three quarters of the
// session timeout. The session cannot expire before that.
func TestOnlyAQuorumKeepsAHold(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
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
				_, _, _ = s.Conn().Exists("/lock") // fails during a reconnect
			}
		}
	})
	must.Become(t, "the hold has ended", func() bool {
		deadline, ok := h.Deadline()
		if late := deadline.Sub(muted); ok && late > timeout*3/4 {
			t.Errorf("the hold's deadline is %v after the last commit", late)
			return true
		}
		return !ok
	})
	close(stop)
	reads.Wait()
	p.mute.Store(0)
	awaitLoss(t, h)
	must.Be(t, context.Cause(h.Context()), lockops.ErrLost, "cause")
}

// After a long wait, a contender is granted the lock only once a quorum has committed that its node
// exists.
func TestLongWaitProvesSessionFirst(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock"))
	const timeout = 8 * time.Second // a busy machine may be late by a quarter of it
	_, got := queueUp(t, within(t), mutexOn(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock"))
	p.asked()
	select {
	case <-holder.Context().Done():
		t.Fatal("the holder lost the lock")
	case <-time.After(timeout): // creating the node proves nothing by now
	}
	must.True(t, !slices.Contains(p.asked(), opMulti), "a heartbeat was sent although nothing is held")
	release(t, holder)
	a := <-got
	must.Succeed(t, a.err)
	if deadline, ok := a.h.Deadline(); !ok || time.Until(deadline) < timeout/4 {
		t.Errorf("granted with a deadline in %v", time.Until(deadline))
	}
	must.True(t, slices.Contains(p.asked(), opMulti), "granted without asking a quorum")
	release(t, a.h)
}

// Locks keep working when sessions expire at any moment of an Acquire or a hold.
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
			for range 3 { // also during a reconnect
				time.Sleep(time.Duration(i) * 100 * time.Microsecond)
				for _, id := range server.Embedded.Sessions() {
					_ = server.Embedded.ExpireSession(id) // may be gone already
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

// Close ends waits and holds and leaves no nodes. A waiter in the same session must not be granted
// the lock when Close removes the hold's node.
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
	must.Be(t, (<-got).err, lockops.ErrClosed, "waiter")
	isAll(t, context.Cause(h.Context()), lockops.ErrLost, lockops.ErrClosed)
	if _, err := lockops.NewZKMutex(s, "/lock").Acquire(within(t)); !errors.Is(err, lockops.ErrClosed) {
		t.Errorf("Acquire after Close: %v, want ErrClosed", err)
	}
	must.Same(t, children(t, server, "/lock"), nil, "nodes left")
}

// A session stops its heartbeats once its last hold is released.
func TestNoHeartbeatsWithoutAHold(t *testing.T) {
	t.Parallel()
	server, p := behindProxy(t)
	const timeout = 20 * time.Second
	release(t, acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock")))
	p.asked() // ignores heartbeats from before the release
	other := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr, lockops.WithSessionTimeout(timeout)), "/other"))
	first, _ := other.Deadline()
	must.Become(t, "two heartbeats in another session", func() bool {
		now, ok := other.Deadline()
		return !ok || now.Sub(first) > timeout/8
	})
	release(t, other)
	if asked := p.asked(); slices.Contains(asked, opMulti) {
		t.Errorf("requests %v after the release", asked)
	}
}
