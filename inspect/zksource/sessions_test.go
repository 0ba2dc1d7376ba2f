package zksource_test

import (
	"context"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// The node of a killed client disappears like that of a closed one. The sessions distinguish them,
// even if their timeout is shorter than the usual interval between inquiries.
func TestKilledClientsHoldExpires(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		for name, tt := range map[string]struct {
			killed bool
			want   inspect.EventKind
		}{"killed": {true, inspect.EventExpired}, "closed": {false, inspect.EventReleased}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for try := 1; ; try++ {
					e, undisturbed := endOfAHold(t, zks, tt.killed)
					if e.Kind == tt.want && e.Certainty == recipe.Certain {
						return
					}
					// After a recent disturbance, a killed client may have reconnected and released.
					mayDiffer := tt.killed && !undisturbed && try < 5
					if !mayDiffer || e.Kind != inspect.EventReleased || e.Certainty != recipe.Likely {
						t.Fatalf("event %+v, undisturbed %v", e, undisturbed)
					}
				}
			})
		}
	})
}

// hold acquires /lock with a kazoo client that has this session timeout in seconds.
func (s *scene) hold(timeout int) *servertest.Peer {
	s.t.Helper()
	peer := servertest.StartKazooLocks(s.t, s.zks.Addr)
	peer.Send(s.t, "timeout", strconv.Itoa(timeout))
	peer.Send(s.t, "lock", "a", s.root+"/lock")
	peer.Expect(s.t, "acquired")
	return peer
}

// onlyEvent waits for the end of the hold.
func (o *following) onlyEvent() inspect.Event {
	o.t.Helper()
	o.awaitLock("free", func(l *inspect.Lock) bool { return l.State == inspect.StateFree })
	if len(o.events) != 1 {
		o.t.Fatalf("events %+v", o.events)
	}
	return o.events[0]
}

// endOfAHold acquires a lock with a client, ends the client and returns the event. undisturbed
// reports whether clients had no reason to reconnect during the session timeout before that.
func endOfAHold(t *testing.T, zks *servertest.ZooKeeper, killed bool) (end inspect.Event, undisturbed bool) {
	t.Helper()
	const timeout = 6
	s := inDirectory(t, zks)
	peer := s.hold(timeout)
	s.cfg.Admin = []string{zks.Admin}
	o := s.follow("/lock")
	o.awaitLock("the holder's client", func(l *inspect.Lock) bool { return len(l.Holders) == 1 && l.Holders[0].Owner.Client != "" })
	ended := time.Now()
	if killed {
		peer.Kill()
	} else {
		peer.Send(t, "close", "a")
	}
	end = o.onlyEvent()
	return end, o.seen.Backends[0].DisturbedAt.Before(ended.Add(-timeout * time.Second))
}

// Without the sessions, an expiry looks like a release.
func TestEndIsUncertainWithoutSessions(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		peer := s.hold(2)
		s.cfg.Admin = []string{"http://127.0.0.1:1"}
		o := s.follow("/lock")
		peer.Kill()
		e := o.onlyEvent()
		must.True(t, e.Kind == inspect.EventReleased && e.Certainty == recipe.Likely, e)
	})
}

// A hung server delays the session table, but not its date. Otherwise living sessions would look
// silent, and their releases like expiries.
func TestHungServerDoesNotAgeSessions(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	hung := servertest.StartWire(t, s.zks.Addr) // accepts connections and never answers
	hung.Stop()
	s.cfg.Servers = append(s.cfg.Servers, hung.Addr())
	const least = time.Second // of the 3 s that the hung server gets: on a busy machine, the other is late, too
	var age time.Duration
	tables := 0
	ctx, stop := context.WithTimeout(t.Context(), sourcetest.Limit)
	defer stop()
	must.Succeed(t, zksource.NewHasty(s.cfg).Run(ctx, func(u inspect.Update) {
		if u.Sessions != nil {
			age, tables = max(age, time.Since(u.SessionsAt)), tables+1
			if age >= least || tables == 3 {
				stop()
			}
		}
	}))
	must.True(t, age >= least, "the oldest of", tables, "session tables came after", age)
}

// watchPatiently watches a lock /l that has a waiter, with a session that outlives silences.
func (s *scene) watchPatiently() watching {
	s.t.Helper()
	v := run(s.t, zksource.NewPatient(s.cfg))
	v.awaitWaiters("/l", 1)
	return v
}

// lateEvent removes the holder during a silence, and then ends it. The event follows a gap.
func lateEvent(v watching, s *scene, held string, end func()) {
	s.t.Helper()
	s.remove(held)
	removed := time.Now()
	over := time.NewTimer(zkwire.MaxLag + time.Second) // the silence under test
	<-over.C
	end()
	v.awaitWaiters("/l", 0)
	v.Peek(func() {
		gap := v.Gap
		if gap == nil || gap.From.After(removed) || gap.Until.Before(removed.Add(zkwire.MaxLag)) {
			s.t.Fatalf("gap %+v; removed by %v", gap, removed)
		}
		at := v.Locks["/l"].ReadAt
		must.True(s.t, !at.Before(gap.Until), "read at", at, "blind until", gap.Until)
	})
}

// A network cut that does not end the connection delays events. Their times are unknown.
func TestEventsHeldByNetworkFollowGap(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]zkserver.Config{"watched": {}, "polled": {WithoutAddWatch: true}} {
		t.Run(name, func(t *testing.T) {
			s := onEmbedded(t, cfg)
			wire := servertest.StartWire(t, s.zks.Addr)
			held := s.queue("/l", "a", "b")[0]
			s.cfg.Servers = []string{wire.Addr()}
			v := s.watchPatiently()
			wire.Stop(servertest.ToClient)
			must.Become(t, "an answer is held back", func() bool { return wire.Held(servertest.ToClient) > 0 })
			lateEvent(v, s, held, wire.Heal)
		})
	}
}

// A follower that is cut off from its leader still answers pings and reads. Once reconnected, it
// reports the changes, which happened at unknown times.
func TestPartitionedFollowersEventsFollowGap(t *testing.T) {
	t.Parallel()
	var listeners []net.Listener
	for range 3 {
		listeners = append(listeners, must.Have(net.Listen("tcp", "127.0.0.1:0"))(t))
	}
	e := must.Have(zkserver.StartEnsemble(zkserver.Config{TickTime: time.Second}, 60, listeners...))(t)
	t.Cleanup(e.Close)
	s := onServer(t, &servertest.ZooKeeper{Addr: listeners[0].Addr().String()})
	held := s.queue("/l", "a", "b")[0]
	s.cfg.Servers = []string{listeners[1].Addr().String()}
	v := s.watchPatiently()
	e.Cut(1, false, true) // messages from the leader
	lateEvent(v, s, held, e.Heal)
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// impatient is a Dial that fails if the caller's deadline leaves less than that time.
func impatient(needs time.Duration) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if limit, limited := ctx.Deadline(); limited && time.Until(limit) < needs {
			return nil, context.DeadlineExceeded
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// tunnel is a Dial that connects at once, to a tunnel that reaches the server later.
func tunnel(needs time.Duration) dialFunc {
	return func(_ context.Context, network, addr string) (net.Conn, error) {
		ours, its := net.Pipe()
		time.AfterFunc(needs, func() {
			defer its.Close()
			c, err := net.Dial(network, addr)
			if err != nil {
				return
			}
			defer c.Close()
			go func() {
				_, _ = io.Copy(c, its)
				c.Close()
			}()
			_, _ = io.Copy(its, c)
		})
		return ours, nil
	}
}

func TestASlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		dial    dialFunc
		timeout time.Duration
		more    []string // servers
		prompt  bool     // answers at once when connected
	}{
		// A distant server, a jump host or a TLS handshake may need more than go-zookeeper's limit of 1 s.
		"a distant server": {impatient(3 * time.Second), 0, []string{"127.0.0.1:1"}, false},
		// A tunnel accepts at once but reaches the server later. That counts as connecting, not as a silent server.
		"behind a tunnel": {tunnel(4 * time.Second), 20 * time.Second, nil, true},
		// The first attempt must last long enough for a server that answers after 8 of 13 seconds.
		"a short timeout": {impatient(8 * time.Second), 13 * time.Second, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := onEmbedded(t, zkserver.Config{})
			s.queue("/lock", "a")
			s.cfg.Servers, s.cfg.Dial, s.cfg.Timeout = append(s.cfg.Servers, tt.more...), tt.dial, tt.timeout
			v := s.once()
			must.True(t, v.Backend.State != inspect.Down && v.Locks["/lock"] != nil, v.Backend)
			slowAnswer := v.Backend.State != inspect.Connected || v.Backend.Unseen != nil
			must.True(t, !tt.prompt || !slowAnswer, "unseen although the server answered slowly", v.Backend)
		})
	}
}
