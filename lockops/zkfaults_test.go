package lockops_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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
			servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
				path := servertest.UniquePath(t)
				p := startProxy(t, server.Addr)
				m := lockops.NewZKMutex(zkSession(t, p.addr()), path, lockops.WithRecipe(recipe))
				release(t, acquire(t, m)) // creates the directory
				p.cutReply.Store(opCreate)
				h := acquire(t, m)
				if got := children(t, server, path); len(got) != 1 || got[0] != h.Name() {
					t.Errorf("children %q, want only %q", got, h.Name())
				}
				release(t, h)
				if got := children(t, server, path); len(got) != 0 {
					t.Errorf("children %q after release", got)
				}
			})
		})
	}
}

// The caller gives up before it is known whether the node exists. The node is removed all the same.
func TestZ2_CancelledWhileReplyIsLost(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		p := startProxy(t, server.Addr)
		m := lockops.NewZKMutex(zkSession(t, p.addr()), path)
		release(t, acquire(t, m))
		for range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			p.cutReply.Store(opCreate)
			h, err := m.Acquire(ctx)
			cancel()
			if err == nil {
				release(t, h)
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		p.cutReply.Store(0)
		must.Become(t, "the queue is empty", func() bool { return len(children(t, server, path)) == 0 })
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
	name, result := queueUp(t, within(t), mutexOn(s, path))
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
	a := <-result
	must.Succeed(t, a.err)
	must.True(t, a.h.Name() != name, "granted on the node of the expired session")
	release(t, a.h)
}

// A waiter whose node an operator deletes is not granted the lock, but queues again.
func TestZ5_OwnNodeDeletedWhileWaiting(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		a := acquire(t, lockops.NewZKMutex(s, path))
		b, gotB := queueUp(t, within(t), mutexOn(s, path))
		_, gotC := queueUp(t, within(t), mutexOn(s, path))
		must.Succeed(t, plain(t, server.Addr).Delete(path+"/"+b, -1))
		release(t, a)
		c := <-gotC // C is next, since B has to queue again
		must.Succeed(t, c.err)
		select {
		case b := <-gotB:
			t.Fatalf("B was granted the lock while C holds it: %v", b.err)
		case <-time.After(100 * time.Millisecond):
		}
		release(t, c.h)
		again := <-gotB
		if again.err != nil || again.h.Name() == b {
			t.Fatalf("B: hold %v with error %v, want a new node", again.h, again.err)
		}
		release(t, again.h)
	})
}

// A waiter whose predecessor vanishes is not granted the lock while the holder has it.
func TestZ6_MiddleWaiterDies(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		a := acquire(t, lockops.NewZKMutex(s, path))
		ctxB, dieB := context.WithCancel(within(t))
		_, gotB := queueUp(t, ctxB, mutexOn(s, path))
		_, gotC := queueUp(t, within(t), mutexOn(s, path))
		dieB()
		if b := <-gotB; !errors.Is(b.err, context.Canceled) {
			t.Fatalf("B: %v, want Canceled", b.err)
		}
		must.Equal(t, len(children(t, server, path)), 2, "nodes")
		select {
		case c := <-gotC:
			t.Fatalf("C was granted the lock while A holds it: %v", c.err)
		case <-time.After(100 * time.Millisecond):
		}
		release(t, a)
		c := <-gotC
		must.Succeed(t, c.err)
		release(t, c.h)
	})
}

// No waiter hangs, although predecessors vanish at any moment between listing and watching.
func TestZ7_NoLostWakeUp(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		contend(t, 3, 60, func(int) lockops.Locker { return lockops.NewZKMutex(s, path) }, func(*lockops.Hold) {})
	})
}

// If the predecessor vanishes between the listing and the watch, the waiter lists again at once.
// Without a watch it would wait for three session timeouts.
func TestZ7_PredecessorGoneBeforeWatchIsNoticed(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
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
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		p := startProxy(t, server.Addr)
		h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr()), path))
		p.cutReply.Store(opDelete)
		release(t, h)
		if got := children(t, server, path); len(got) != 0 {
			t.Errorf("children %q are left", got)
		}
		h = acquire(t, lockops.NewZKMutex(zkSession(t, p.addr()), path))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.cut()
		if err := h.Release(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("release with an ended context: %v", err)
		}
		must.Become(t, "the node is removed in the background", func() bool { return len(children(t, server, path)) == 0 })
	})
}

// An Acquire cancelled at any moment, waiting or not, leaves no node.
func TestZ11_CancelLeavesNothing(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		s := zkSession(t, server.Addr)
		m := lockops.NewZKMutex(s, path)
		look := plain(t, server.Addr)
		for i := range 100 {
			var holder *lockops.Hold
			if i%2 == 0 {
				holder = acquire(t, m)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.N(2000))*time.Microsecond)
			h, err := m.Acquire(ctx)
			cancel()
			if err == nil {
				release(t, h)
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%v, want DeadlineExceeded", err)
			}
			if holder != nil {
				release(t, holder)
			}
			emptied(t, look, path)
		}
	})
}

// When the holder is cut off from all servers, its hold ends before the next contender is granted
// the lock.
func TestZ13_LossIsReportedBeforeNextGrant(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		p := startProxy(t, server.Addr)
		h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(6*time.Second)), path))
		if deadline, ok := h.Deadline(); !ok || time.Until(deadline) > 6*time.Second {
			t.Errorf("deadline in %v, %v", time.Until(deadline), ok)
		}
		_, got := queueUp(t, within(t), mutexOn(zkSession(t, server.Addr), path))
		p.blackHole.Store(true)
		next := <-got
		must.Succeed(t, next.err)
		must.True(t, h.Context().Err() != nil, "the next contender was granted the lock before the first hold ended")
		must.Be(t, context.Cause(h.Context()), lockops.ErrLost, "cause")
		p.blackHole.Store(false)
		p.cut()
		release(t, next.h)
	})
}

// A hold survives a reconnect within the session timeout.
func TestZ12_ReconnectKeepsTheLock(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		p := startProxy(t, server.Addr)
		h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr()), path))
		p.cut()
		must.Be(t, h.Extend(within(t)), nil)
		if h.Context().Err() != nil {
			t.Errorf("lost: %v", context.Cause(h.Context()))
		}
		release(t, h)
	})
}

// The error names the servers and the reason.
func TestNewZKSessionExplainsFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	_, err := lockops.NewZKSession(ctx, []string{"127.0.0.1:1"})
	if !errors.Is(err, context.DeadlineExceeded) || err == nil || !contains(err, "127.0.0.1:1", "refused") {
		t.Errorf("%v, want DeadlineExceeded with the server and the reason", err)
	}
}

func contains(err error, parts ...string) bool {
	for _, p := range parts {
		if s := fmt.Sprint(err); len(s) < len(p) || !strings.Contains(s, p) {
			return false
		}
	}
	return true
}
