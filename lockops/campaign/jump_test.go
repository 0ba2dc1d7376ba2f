//go:build unix

package campaign

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// onFakeClock runs f in a synctest bubble with an ensemble. Waits take no time there, and durations
// depend only on the code. session makes a session on one member, which ends with the test.
func onFakeClock(t *testing.T,
	f func(t *testing.T, e *zkserver.Ensemble, n *network, session func(addr string) *lockops.ZKSession),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		e := n.startEnsemble(t)
		t.Cleanup(e.Close)
		f(t, e, n, func(addr string) *lockops.ZKSession {
			s := must.Have(lockops.NewZKSession(t.Context(), []string{addr}, lockops.WithSessionTimeout(simTimeout), lockops.WithDialContext(n.dial)))(t)
			t.Cleanup(s.Close)
			return s
		})
	})
}

const member1, member2, member3 = "10.0.0.1:2181", "10.0.0.2:2181", "10.0.0.3:2181"

// startEnsemble starts three members.
func (n *network) startEnsemble(t *testing.T) *zkserver.Ensemble {
	listeners := []net.Listener{n.listen(member1), n.listen(member2), n.listen(member3)}
	return must.Have(zkserver.StartEnsemble(zkserver.Config{TickTime: simTick}, 5, listeners...))(t)
}

// An Acquire on a hanging server returns soon after its context ends, and its request is undone in
// the background.
func TestAcquireReturnsSoonOnHungServer(t *testing.T) {
	onFakeClock(t, func(t *testing.T, _ *zkserver.Ensemble, n *network, session func(addr string) *lockops.ZKSession) {
		m := lockops.NewZKMutex(session(member1), "/lock")
		h, err := m.Acquire(t.Context())
		must.Succeed(t, err)
		must.Succeed(t, h.Release(t.Context()))
		n.stall(member1)
		const wait = simTick
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		start := time.Now()
		_, err = m.Acquire(ctx)
		late := time.Since(start) - wait
		must.Be(t, err, context.DeadlineExceeded)
		must.True(t, late <= 100*time.Millisecond, "returned", late, "after its context had ended")
		n.resume(member1)
	})
}

// A hold granted after a silence of its client ends before its session can expire. Commits do not
// show the leader that the session is alive, and the follower that would report it is cut off first.
func TestSilenceBeforeGrantShortensHold(t *testing.T) {
	for silence := time.Duration(0); silence < simTimeout; silence += simTick / 4 {
		onFakeClock(t, func(t *testing.T, e *zkserver.Ensemble, n *network, session func(addr string) *lockops.ZKSession) {
			first, second := session(member2), session(member1)
			m := lockops.NewZKMutex(first, "/lock")
			h, err := m.Acquire(t.Context())
			must.Succeed(t, err)
			must.Succeed(t, h.Release(t.Context()))
			time.Sleep(simTimeout + simTick/8) // to between two ticks of the leader, idle except for pings
			n.stall(member2)
			time.Sleep(silence)
			n.resume(member2)
			h, err = m.Acquire(t.Context())
			must.Succeed(t, err)
			e.Cut(1, true, false) // its messages to the leader
			next := must.Have(lockops.NewZKMutex(second, "/lock").Acquire(t.Context()))(t)
			if h.Context().Err() == nil {
				deadline, _ := h.Deadline()
				t.Errorf("silent for %v: granted to another while still held for %v", silence, time.Until(deadline))
			}
			e.Heal()
			_, _ = next.Release(t.Context()), h.Release(t.Context())
		})
	}
}

// laggard is a connection that delays all incoming data.
type laggard struct {
	net.Conn
	late *atomic.Int64 // nanoseconds
}

func (l laggard) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	time.Sleep(time.Duration(l.late.Load()))
	return n, err
}

// With answers that take a large part of the session timeout, a lock is granted as long as enough
// time is left to hold it. Otherwise a caller that does not wait gets an error.
func TestSlowAnswersGrantOrEnd(t *testing.T) {
	const commits, all, most = simTimeout * 3 / 10, simTimeout * 16 / 100, simTimeout / 5 // an answer arrives in two pieces
	for _, c := range []struct {
		slow         string
		lag, late    time.Duration
		granted      bool          // required
		tried, waits time.Duration // at most
	}{
		{"nothing", 0, 0, true, simTimeout / 2, simTimeout / 2},
		{"commits", commits, 0, true, 3 * simTimeout, 3 * simTimeout},
		{"all", 0, all, true, 3 * simTimeout, 3 * simTimeout},
		{"all, too much,", 0, most, false, 4 * simTimeout, 9 * simTimeout},
	} {
		onFakeClock(t, func(t *testing.T, e *zkserver.Ensemble, n *network, _ func(addr string) *lockops.ZKSession) {
			var late atomic.Int64
			dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := n.dial(ctx, network, addr)
				return laggard{conn, &late}, err
			}
			s := must.Have(lockops.NewZKSession(t.Context(), []string{member2}, lockops.WithSessionTimeout(simTimeout), lockops.WithDialContext(dial)))(t)
			defer s.Close()
			m := lockops.NewZKMutex(s, "/lock")
			for _, a := range []struct {
				name string
				take func(context.Context) (*lockops.Hold, error)
				most time.Duration
			}{{"TryAcquire", m.TryAcquire, c.tried}, {"Acquire", m.Acquire, c.waits}} {
				time.Sleep(2 * simTimeout) // idle except for pings
				e.Lag(1, c.lag)
				late.Store(int64(c.late))
				ctx, cancel := context.WithTimeout(t.Context(), 8*simTimeout)
				start := time.Now()
				h, err := a.take(ctx)
				took := time.Since(start)
				cancel()
				must.True(t, err == nil || !c.granted, c.slow, "slow:", a.name, "returned", err)
				must.True(t, took <= a.most, c.slow, "slow:", a.name, "returned after", took)
				e.Heal()
				late.Store(0)
				if h != nil {
					_ = h.Release(t.Context())
				}
			}
		})
	}
}

// A waiter checks the queue right after a reconnect, since its watch ended with the old connection.
func TestReconnectedWaiterChecksTheQueue(t *testing.T) {
	onFakeClock(t, func(t *testing.T, _ *zkserver.Ensemble, n *network, session func(addr string) *lockops.ZKSession) {
		first, second := session(member1), session(member2)
		h := must.Have(lockops.NewZKMutex(first, "/lock").Acquire(t.Context()))(t)
		waits, granted := make(chan struct{}, 1), make(chan error, 1)
		waiter := lockops.NewZKMutex(second, "/lock", lockops.OnWaiting(func(string) { waits <- struct{}{} }))
		go func() {
			_, err := waiter.Acquire(t.Context())
			granted <- err
		}()
		<-waits
		n.stall(member2)
		n.cut(member2)
		must.Succeed(t, h.Release(t.Context()))
		n.resume(member2)
		start := time.Now()
		must.Succeed(t, <-granted)
		took := time.Since(start) // three timeouts without the check
		must.True(t, took <= simTimeout, "granted", took, "after the release")
	})
}
