package zksource_test

import (
	"bytes"
	"context"
	"net"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
	"lockscope/internal/zkserver"
)

// connectionsOfOurs counts what go-zookeeper runs in this process.
func connectionsOfOurs(t *testing.T) int {
	t.Helper()
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 2); err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text.Bytes(), []byte("zk.(*Conn).loop("))
}

// A run that is ended while it looks at the clock of a leader that it is not connected to leaves no session there, and no connection.
func TestAnEndDuringTheLookAtTheLeadersClockLeavesNothing(t *testing.T) {
	for _, once := range []bool{false, true} {
		t.Run("once "+strconv.FormatBool(once), func(t *testing.T) {
			leads, ours := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}), servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
			create(t, client(t, leads), "/l", "", 0)
			create(t, client(t, ours), "/l", "", 0) // else the run's session there would have the number of that of the client here
			before := connectionsOfOurs(t)
			ctx, cancel := context.WithTimeout(t.Context(), sourcetest.Limit)
			defer cancel()
			out := sync.OnceFunc(cancel)
			probed := false
			dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == leads.Addr && len(ours.Embedded.Sessions()) < 2 {
					return nil, &net.OpError{Op: "dial", Err: net.ErrClosed} // the run is connected to the other one
				}
				if addr == leads.Addr && len(leads.Embedded.Sessions()) > 1 { // there is one for the clock, which is asked for now
					probed = true
					out()
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			s := zksource.New(zksource.Config{Backend: "zk", Servers: []string{leads.Addr, ours.Addr}, Dial: dial, Once: once})
			if err := s.Run(ctx, func(inspect.Update) {}); err != nil {
				t.Fatal(err)
			}
			if sessions := leads.Embedded.Sessions(); !probed || len(sessions) != 1 {
				t.Errorf("looked at the clock: %v; %d sessions, one is the client's", probed, len(sessions))
			}
			if after := connectionsOfOurs(t); after != before {
				t.Errorf("%d connections are left, %d before", after, before)
			}
		})
	}
}

// Where there is one server, our own connection shows its clock, and none is made for that.
func TestOneLookAtAnOnlyServerKnowsItsClockByItsOwnConnection(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Words: []string{"srvr", "cons"}})
	zks.Embedded.SetClock(-2 * time.Hour)
	create(t, client(t, zks), "/l", "", 0)
	var most atomic.Int64 // sessions while somebody dials
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		most.Store(max(most.Load(), int64(len(zks.Embedded.Sessions()))))
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	b, _ := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}, Dial: dial})
	if off := b.ClockOffset() + 2*time.Hour; !b.ClockKnown() || off.Abs() > b.Clock.Within+time.Millisecond {
		t.Errorf("%+v is %v off", b.Clock, off)
	}
	if most.Load() != 2 {
		t.Errorf("%d sessions, one is a client's, one ours", most.Load())
	}
}
