package zkserver_test

import (
	"bytes"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"

	"github.com/go-zookeeper/zk"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dialZK connects go-zookeeper and waits for its session.
func dialZK(t testing.TB, addr string, timeout time.Duration) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	must.Succeed(t, err)
	t.Cleanup(c.Close)
	awaitState(t, events, zk.StateHasSession)
	return c, events
}

func awaitState(t testing.TB, events <-chan zk.Event, want zk.State) {
	t.Helper()
	for timeout := time.After(60 * time.Second); ; {
		select {
		case ev := <-events:
			if ev.State == want {
				return
			}
		case <-timeout:
			t.Fatalf("no %v", want)
		}
	}
}

func awaitEvent(t testing.TB, events <-chan zk.Event) zk.Event {
	t.Helper()
	select {
	case ev := <-events:
		return ev
	case <-time.After(60 * time.Second):
		t.Fatal("no watch event")
		panic("unreachable")
	}
}

var open = zk.WorldACL(zk.PermAll)

// A client that vanishes keeps its node for the whole timeout, and for at most two ticks longer.
func TestSilentSessionExpires(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		other, _ := dialZK(t, server.Addr, 20*time.Second)
		w := &world{t: t, addr: server.Addr, names: map[int64]string{}}
		c := w.dial("silent")
		c.hello(1000)
		lastWord := time.Now() // before the reply, which may be read late
		c.create(path, "", 1)
		c.conn.Close()
		_, _, events, err := other.ExistsW(path)
		must.Succeed(t, err)
		if ev := awaitEvent(t, events); ev.Type != zk.EventNodeDeleted {
			t.Errorf("got %v, want the node deleted", ev)
		}
		if took := time.Since(lastWord); took < 950*time.Millisecond || took > 20*time.Second {
			t.Errorf("expired after %v, with a timeout of 1s and a tick of 500ms", took)
		}
		c = c.again(1000)
		c.eof()
	})
}

func TestContainersAreReaped(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{ReapInterval: 10 * time.Millisecond})
	w := &world{t: t, addr: server.Addr, names: map[int64]string{}}
	a := w.client("a")
	a.create2(19, "/used", createReq("/used", nil, 4))
	a.create2(19, "/unused", createReq("/unused", nil, 4))
	a.create("/used/child", "", 0)
	c, _ := dialZK(t, server.Addr, 20*time.Second)
	for _, path := range []string{"/used"} {
		ok, _, events, err := c.ExistsW(path)
		must.Succeed(t, err)
		if path == "/used" {
			a.del("/used/child", -1)
		}
		if ok {
			if ev := awaitEvent(t, events); ev.Type != zk.EventNodeDeleted {
				t.Errorf("%s: got %v, want it to be deleted", path, ev)
			}
		}
	}
	for _, path := range []string{"/unused"} {
		if ok, _, err := c.Exists(path); !ok || err != nil {
			t.Errorf("%s: %v, %v; want it to exist", path, ok, err)
		}
	}
}

// The server continues to serve others, whatever a client sends.
func TestNoiseHarmsNoOtherClient(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	good, _ := dialZK(t, server.Addr, 20*time.Second)
	hello := req().int(0).long(0).int(4000).long(0).buf(make([]byte, 16))
	session := append([]byte{0, 0, 0, byte(len(hello.b))}, hello.b...)
	for _, noise := range [][]byte{
		nil,
		{0},
		{0, 0, 0, 0},
		{0xff, 0xff, 0xff, 0xff},
		[]byte("GET / HTTP/1.1\r\n\r\n"), []byte("wchp"), []byte("xxxx"),
		bytes.Repeat([]byte{0xff}, 10000), append(slices.Clone(session), bytes.Repeat([]byte{0, 0, 0, 12, 9}, 500)...),
		append(slices.Clone(session), 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 14), session,
	} {
		conn := must.Have(net.Dial("tcp", server.Addr))(t)
		conn.Write(noise)
		if _, _, err := good.Exists("/"); err != nil {
			t.Fatalf("after %.20q: %v", noise, err)
		}
		conn.Close()
	}
}

// Answers to a client that does not read are bounded, and others are served meanwhile.
func TestNonReadingClientIsDisconnected(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	good, _ := dialZK(t, server.Addr, 30*time.Second)
	must.Have(good.Create("/big", make([]byte, 900_000), 0, open))(t)
	w := &world{t: t, addr: server.Addr, names: map[int64]string{}}
	c := w.client("deaf")
	for i := range int32(200) {
		c.post(i, 4, req().str("/big").bool(false))
	}
	reports := busy{server, w}
	must.Become(t, "the connection is dropped", func() bool { return len(reports.command(t, "connections")["connections"].([]any)) <= 1 })
	if ok, _, err := good.Exists("/big"); !ok || err != nil {
		t.Errorf("another client: %v, %v", ok, err)
	}
}

// Close returns even with connected clients, and can be called twice. It waits for the accepting goroutine, so the
// server no longer listens. (A dial would prove nothing: another process may have the port by now.)
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	server := must.Have(zkserver.Start(zkserver.Config{}))(t)
	for range 3 {
		dialZK(t, server.Addr(), 20*time.Second)
	}
	idle := must.Have(net.Dial("tcp", server.Addr()))(t)
	defer idle.Close()
	for range 2 {
		must.Be(t, server.Close(), nil)
	}
	if n, err := idle.Read(make([]byte, 1)); err == nil {
		t.Errorf("an idle connection read %d bytes", n)
	}
}
