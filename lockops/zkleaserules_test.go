package lockops_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
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
	left := time.Until(deadline)
	must.True(t, ok && left <= timeout*3/4-late*3/2 && left >= 0, "deadline in", left, ok)
	p.delay.Store(0)
	release(t, h)
}

// A few heartbeats keep a hold beyond the session timeout.
func TestHeartbeatsKeepAHold(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
	const timeout = 8 * time.Second // a busy machine may be late by half of it
	h := acquire(t, lockops.NewZKMutex(zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout)), "/lock"))
	movedBy(t, h, timeout)
	must.Succeed(t, context.Cause(h.Context()))
	beats := len(slices.DeleteFunc(p.asked(), func(op int32) bool { return op != opMulti }))
	must.True(t, beats >= 4 && beats <= 14, beats, "heartbeats in a little over a session timeout, want about 8")
	release(t, h)
}

// If only requests that need a quorum get no answer, the hold is lost within three quarters of the
// session timeout. The session cannot expire before that.
func TestOnlyAQuorumKeepsAHold(t *testing.T) {
	t.Parallel()
	_, p := behindProxy(t)
	const timeout = 8 * time.Second // a busy machine may keep a session from reading for half of it
	s := zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout))
	h := acquire(t, lockops.NewZKMutex(s, "/lock"))
	p.mute.Store(opMulti)
	muted := time.Now()
	muting, stop := context.WithCancel(t.Context())
	var reads sync.WaitGroup
	reads.Go(func() {
		for ; muting.Err() == nil; time.Sleep(20 * time.Millisecond) {
			_, _, _ = s.Conn().Exists("/lock") // fails during a reconnect
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
	stop()
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
	const timeout = 40 * time.Second // a busy machine may be late by a quarter of it
	var ahead atomic.Int64
	p.before = func(op int32) {
		if op == opMulti {
			ahead.Store(0) // so that its answer is not late
		}
	}
	holder := acquire(t, lockops.NewZKMutex(zkSession(t, server.Addr), "/lock"))
	waiter := zkSession(t, p.addr(), lockops.WithSessionTimeout(timeout), lockops.ClockAhead(&ahead))
	_, got := mustQueue(t, within(t), mutexMaker(waiter, "/lock"))
	p.asked()
	ahead.Store(int64(timeout)) // creating the node proves nothing by now
	release(t, holder)
	a := granted(t, got)
	must.True(t, slices.Contains(p.asked(), opMulti), "granted without asking a quorum")
	lasts(t, a, timeout/4)
	release(t, a)
}

// Locks keep working when sessions expire at any moment of an Acquire or a hold.
func TestGrantsWhileSessionsEnd(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	s := zkSession(t, server.Addr)
	m := lockops.NewZKMutex(s, "/lock")
	release(t, acquire(t, m))
	moments := servertest.Effort(t, 20, 60)
	for i := range moments {
		var expiring sync.WaitGroup
		expiring.Go(func() {
			for range 3 { // also during a reconnect
				time.Sleep(time.Duration(i) * 6 * time.Millisecond / time.Duration(moments))
				for _, id := range server.Embedded.Sessions() {
					_ = server.Embedded.ExpireSession(id) // may be gone already
				}
			}
		})
		isAny(t, acquire(t, m).Release(within(t)), nil, lockops.ErrLost)
		expiring.Wait()
	}
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
	_, got := mustQueue(t, within(t), mutexMaker(s, "/lock"))
	s.Close()
	must.Be(t, (<-got).err, lockops.ErrClosed, "waiter")
	isAll(t, context.Cause(h.Context()), lockops.ErrLost, lockops.ErrClosed)
	_, err := lockops.NewZKMutex(s, "/lock").Acquire(within(t))
	must.Be(t, err, lockops.ErrClosed, "Acquire after Close")
	must.Same(t, children(t, server, "/lock"), nil, "nodes left")
}

// movedBy waits until heartbeats have moved a hold's deadline, or the hold has ended.
func movedBy(t *testing.T, h *lockops.Hold, by time.Duration) {
	t.Helper()
	first, _ := h.Deadline()
	must.Become(t, "the deadline has moved", func() bool {
		now, ok := h.Deadline()
		return !ok || now.Sub(first) > by
	})
}

// farWay is a slow link to a server, with the time for connecting and for a round trip.
type farWay struct{ connect, trip time.Duration }

func (w farWay) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	time.Sleep(w.connect) // the link is slow
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// Every kind works over slow links, and survives a lost connection, if the session timeout is long
// enough for the link.
func TestLocksWorkOverDistantLinks(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{TickTime: 100 * ms, MaxSessionTimeout: time.Minute})
	for _, tt := range []struct {
		way     farWay
		timeout time.Duration
		tls     bool
	}{
		{farWay{50 * ms, 20 * ms}, 10 * time.Second, false},
		{farWay{150 * ms, 150 * ms}, 30 * time.Second, true},
		{farWay{600 * ms, 300 * ms}, 12 * time.Second, false},
		{farWay{900 * ms, 300 * ms}, 30 * time.Second, true}, // longer than go-zookeeper would wait
	} {
		t.Run(fmt.Sprint(tt.way.connect, tt.way.trip, tt.timeout, tt.tls), func(t *testing.T) {
			t.Parallel()
			wire := servertest.StartWire(t, server.Addr)
			wire.Delay(tt.way.trip / 2)
			p := startProxy(t, wire.Addr())
			addr, options := p.addr(), []lockops.ZKOption{lockops.WithSessionTimeout(tt.timeout), lockops.WithDialContext(tt.way.dial)}
			if tt.tls {
				var config *tls.Config
				addr, config = overTLS(t, addr)
				options = append(options, lockops.WithTLS(config))
			}
			s := zkSession(t, addr, options...)
			path := servertest.UniquePath(t)
			var all sync.WaitGroup
			for i, l := range []lockops.Locker{
				lockops.NewZKMutex(s, path+"-mutex"), lockops.NewZKMutex(s, path+"-sequential", lockops.WithRecipe("sequential")),
				reentrantReader(s, path+"-read"), reentrantWriter(s, path+"-write"),
				lockops.NewZKSemaphore(s, path+"-semaphore", 1),
			} {
				all.Go(func() { farCycle(t, i, l, p) })
			}
			all.Wait()
		})
	}
}

func farCycle(t *testing.T, i int, l lockops.Locker, p *proxy) {
	h, err := l.Acquire(within(t))
	if must.Be(t, err, nil, l, "Acquire"); err != nil {
		return
	}
	_, err = l.TryAcquire(within(t))
	isAny(t, err, nil, lockops.ErrHeld)
	if i == 0 { // all share the connection
		p.cut()
	}
	must.Be(t, h.Extend(within(t)), nil, l, "extend")
	must.Be(t, h.Release(within(t)), nil, l, "release")
	free := within(t)
	h, err = l.TryAcquire(free)
	for errors.Is(err, lockops.ErrHeld) && free.Err() == nil { // the node of the previous try may still be there
		h, err = l.TryAcquire(free)
	}
	if must.Be(t, err, nil, l, "TryAcquire after the release"); err != nil {
		return
	}
	must.Be(t, h.Release(within(t)), nil, l)
}

// overTLS starts a TLS proxy for a server, and returns its address and the configuration of its
// clients.
func overTLS(t *testing.T, addr string) (string, *tls.Config) {
	t.Helper()
	certificates := servertest.NewCertificates(t)
	l := must.Have(tls.Listen("tcp", "127.0.0.1:0", certificates.Server(t)))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				to.Close()
				from.Close()
			}
			go pass(client, server)
			go pass(server, client)
		}
	}()
	return l.Addr().String(), certificates.Client(t)
}

// The error names a session timeout that would suffice.
func TestTooSlowLinkFailsAtOnce(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{TickTime: 100 * time.Millisecond, MaxSessionTimeout: time.Minute})
	wire := servertest.StartWire(t, server.Addr)
	wire.Delay(200 * time.Millisecond)
	_, err := lockops.NewZKSession(within(t), []string{wire.Addr()}, lockops.WithSessionTimeout(time.Second))
	advice := regexp.MustCompile(`session timeout of ([4-9]|\d\d)[.\d]*s would do`) // more on a slow machine
	must.Be(t, err, lockops.ErrTooShort)
	must.True(t, advice.MatchString(fmt.Sprint(err)), err, "does not say which timeout would do")
}
