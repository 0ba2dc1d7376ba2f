package zkwire

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
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

// sendIn sends requests in a session's name.
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
	id, timeout := tap.Session()
	must.Equal(t, fmt.Sprint(id, timeout, tap.Server()), "0 0s", "before the first dial")
	must.True(t, lastAck(tap).IsZero(), "acknowledged before the first dial")
	c := through(t, tap, time.Minute, s.Addr())
	id, timeout = tap.Session()
	must.Equal(t, id, c.SessionID(), "session")
	must.Equal(t, timeout, 10*time.Second, "timeout")
	must.Equal(t, tap.Server(), s.Addr(), "server")
	greeted, requests := lastAck(tap), tap.Requests()
	before := time.Now()
	_, _, err := c.Children("/")
	must.Succeed(t, err)
	after, ack := time.Now(), lastAck(tap)
	must.True(t, ack.After(greeted), "acknowledged", ack, "last", greeted)
	must.True(t, !ack.Before(before) && !ack.After(after), "acknowledged", ack, "asked", before)
	must.Equal(t, tap.Requests()-requests, 1, "requests")
	l := tap.Latency()
	must.True(t, l > 0 && l <= after.Sub(before), "latency", l, "of", after.Sub(before))
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
	id, _ := tap.Session()
	must.True(t, id != old && id != 0, "session", id, "after", old, "expired")
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
	_, _, err := c.Children("/")
	must.Be(t, err, zk.ErrConnectionClosed, "request to a hung server")
	took := time.Since(start)
	must.True(t, took >= timeout/4 && took <= timeout, "left after", took, "want about a third of", timeout)
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
	must.Succeed(t, l.Init([]string{"a:1", "b:1"}))
	must.Equal(t, l.Len(), 2, "servers")
	for i, want := range []struct {
		server string
		pause  bool
	}{{"a:1", false}, {"b:1", false}, {"a:1", true}, {"b:1", false}, {"a:1", true}} {
		got, pause := l.Next()
		must.Equal(t, got, want.server, "try", i)
		must.Equal(t, pause, want.pause, "a pause before try", i)
	}
	l.Connected()
	_, pause := l.Next()
	must.True(t, !pause, "a pause after a healthy connection broke")
	for range 2 * maxBrief {
		l.Connected()
	}
	_, pause = l.Next()
	must.True(t, pause, "no pause although connections break at once")
}

// serveTLS accepts connections until the test ends, and reports the outcome of each handshake.
func serveTLS(t *testing.T, config *tls.Config, greeted func(c *tls.Conn, err error)) (addr string) {
	listener := must.Have(tls.Listen("tcp", "127.0.0.1:0", config))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			c := conn.(*tls.Conn)
			greeted(c, c.Handshake())
			c.Close()
		}
	}()
	return listener.Addr().String()
}

// A certificate only authenticates the client to a server that asks for it.
func TestCertificateCountsOnlyWhenRequested(t *testing.T) {
	t.Parallel()
	c := servertest.NewCertificates(t)
	config := must.Have((&connect.TLS{CA: c.CA, Cert: c.Cert, Key: c.Key, ServerName: "localhost"}).Config())(t)
	for asks, want := range map[tls.ClientAuthType]bool{
		tls.NoClientCert: false, tls.RequestClientCert: true, tls.RequireAnyClientCert: true,
	} {
		t.Run(asks.String(), func(t *testing.T) {
			server := c.Server(t)
			server.ClientAuth = asks
			seen := make(chan int, 1)
			addr := serveTLS(t, server, func(c *tls.Conn, err error) {
				must.Be(t, err, nil)
				seen <- len(c.ConnectionState().PeerCertificates)
			})
			tap := &Tap{TLS: config}
			conn := must.Have(tap.secure(t.Context(), "tcp", addr))(t)
			defer conn.Close()
			must.Equal(t, <-seen > 0, want, "the server has a certificate")
			must.Equal(t, tap.Authenticated(), want, "authenticated")
		})
	}
	got := connect.WithShown(&tls.Config{MinVersion: tls.VersionTLS12}, nil)
	must.True(t, got.GetClientCertificate == nil, "WithShown offers a certificate although there is none")
}

// If a TLS server and client do not trust each other, the error names the option that is wrong.
func TestTLSErrorNamesOption(t *testing.T) {
	t.Parallel()
	certs, others := servertest.NewCertificates(t), servertest.NewCertificates(t)
	config := certs.Server(t)
	config.MaxVersion = tls.VersionTLS12                                                     // the server refuses the client within the handshake
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool() // it trusts no certificate
	addr := serveTLS(t, config, func(*tls.Conn, error) {})
	for want, given := range map[string]*connect.TLS{
		"cert= and key=": {CA: certs.CA, Cert: others.Cert, Key: others.Key}, "ca=": {CA: others.CA},
	} {
		tap := &Tap{TLS: must.Have(given.Config())(t)}
		_, err := tap.Dial("tcp", addr, 30*time.Second)
		if err == nil {
			t.Fatal("connected, want", want)
		}
		must.Contain(t, connect.Reason(err), want)
	}
}
