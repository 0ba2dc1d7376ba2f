package zkwire

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// clientLog is go-zookeeper's log, which must not mention unexpected replies.
type clientLog struct{ testing.TB }

func (l clientLog) Printf(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); strings.Contains(text, "Xid") || strings.Contains(text, "xid") {
		l.Error(text)
	}
}

// client is go-zookeeper on a tapped connection.
type client struct {
	*zk.Conn
	t      testing.TB
	tap    *Tap
	events chan zk.Event // all that go-zookeeper reports
}

// through connects go-zookeeper through a tap and waits for its session.
func through(t testing.TB, tap *Tap, timeout time.Duration, addr string) *client {
	t.Helper()
	c := &client{t: t, tap: tap, events: make(chan zk.Event, 1000)}
	conn, events, err := zk.Connect([]string{addr}, timeout, zk.WithDialer(tap.Dial), zk.WithHostProvider(new(ServerList)),
		zk.WithLogger(clientLog{t}), zk.WithEventCallback(func(e zk.Event) { c.events <- e }))
	must.Succeed(t, err)
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	c.Conn = conn
	c.await(zk.StateHasSession)
	return c
}

// await waits for a state of the session.
func (c *client) await(want zk.State) {
	c.t.Helper()
	c.awaitEvent(want.String(), func(e zk.Event) bool { return e.Type == zk.EventSession && e.State == want })
}

func (c *client) awaitEvent(what string, is func(zk.Event) bool) {
	c.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case e := <-c.events:
			if is(e) {
				return
			}
		case <-limit:
			c.t.Fatalf("no event: %s", what)
		}
	}
}

// send sends requests of our own in the client's session and waits for all replies.
func (c *client) send(requests ...Request) []Reply { return sendIn(c.tap, c.SessionID(), requests...) }

func sendIn(tap *Tap, session int64, requests ...Request) []Reply {
	replies := make([]Reply, len(requests))
	var all sync.WaitGroup
	all.Add(len(requests))
	tap.Send(session, func(i int, r Reply) {
		replies[i] = r
		all.Done()
	}, requests...)
	all.Wait()
	return replies
}

func (c *client) create(path string, data []byte, acl []zk.ACL) {
	c.t.Helper()
	must.Have(c.Create(path, data, 0, acl))(c.t)
}

func TestMain(m *testing.M) { servertest.Main(m) }

func server(t testing.TB) *zkserver.Server {
	t.Helper()
	cfg := zkserver.Config{TickTime: 100 * time.Millisecond, MaxSessionTimeout: 10 * time.Second}
	s := must.Have(zkserver.Start(cfg))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestTapExposesHiddenClientState(t *testing.T) {
	t.Parallel()
	s := server(t)
	tap := &Tap{}
	if id, timeout := tap.Session(); id != 0 || timeout != 0 || tap.Server() != "" || !lastAck(tap).IsZero() {
		t.Error("values before the first dial")
	}
	c := through(t, tap, time.Minute, s.Addr())
	if id, timeout := tap.Session(); id != c.SessionID() || timeout != 10*time.Second || tap.Server() != s.Addr() {
		t.Errorf("session 0x%x, %v at %q", id, timeout, tap.Server())
	}
	greeted, requests := lastAck(tap), tap.Requests()
	before := time.Now()
	if _, _, err := c.Children("/"); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	if ack := lastAck(tap); !ack.After(greeted) || ack.Before(before) || ack.After(after) {
		t.Errorf("acknowledged %v, asked between %v and %v", ack, before, after)
	}
	must.Equal(t, tap.Requests()-requests, 1, "requests")
	if l := tap.Latency(); l <= 0 || l > after.Sub(before) {
		t.Errorf("latency %v of %v", l, after.Sub(before))
	}
}

func TestTapReportsDialErrorsAndExpiry(t *testing.T) {
	t.Parallel()
	s := server(t)
	tap := &Tap{}
	c := through(t, tap, 10*time.Second, s.Addr())
	old := c.SessionID()
	must.Succeed(t, s.ExpireSession(old))
	c.await(zk.StateExpired)
	c.await(zk.StateHasSession)
	if id, _ := tap.Session(); id == old || id == 0 {
		t.Errorf("session 0x%x after 0x%x expired", id, old)
	}
	s.Close()
	for tap.DialError() == nil {
		c.await(zk.StateConnecting)
	}
	must.Equal(t, tap.Server(), "", "still connected to")
}

// The client leaves a server that accepts and then hangs, in the greeting or later, while its session
// is still alive.
func TestTapLeavesAHungServer(t *testing.T) {
	s := server(t)
	wire := servertest.StartWire(t, s.Addr())
	tap := &Tap{}
	const timeout = 9 * time.Second
	c := through(t, tap, timeout, wire.Addr())
	id := c.SessionID()
	wire.Stop()
	start := time.Now()
	if _, _, err := c.Children("/"); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Errorf("request to a hung server: %v", err)
	}
	if took := time.Since(start); took < timeout/4 || took > timeout {
		t.Errorf("left after %v, want about a third of %v", took, timeout)
	}
	c.await(zk.StateConnecting)
	c.await(zk.StateConnected)
	c.await(zk.StateDisconnected) // the greeting hangs, too, which is noticed after a sixth
	must.True(t, tap.DialError() != nil, "no error although the server never answered")
	wire.Heal()
	c.await(zk.StateHasSession)
	must.Equal(t, c.SessionID(), id, "the session was lost")
}

func TestServerListPausesAfterFullRound(t *testing.T) {
	t.Parallel()
	l := new(ServerList)
	must.True(t, l.Init([]string{"nocolon"}) != nil, "a server without a port was accepted")
	if err := l.Init([]string{"a:1", "b:1"}); err != nil || l.Len() != 2 {
		t.Fatal(err)
	}
	for i, want := range []struct {
		server string
		pause  bool
	}{{"a:1", false}, {"b:1", false}, {"a:1", true}, {"b:1", false}, {"a:1", true}} {
		if got, pause := l.Next(); got != want.server || pause != want.pause {
			t.Errorf("try %d: %s %v, want %v", i, got, pause, want)
		}
	}
	l.Connected()
	if _, pause := l.Next(); pause {
		t.Error("a pause after a healthy connection broke")
	}
	for range 2 * maxBrief {
		l.Connected()
	}
	if _, pause := l.Next(); !pause {
		t.Error("no pause although connections break at once")
	}
}
