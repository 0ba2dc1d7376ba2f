package zkserver_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestMain(m *testing.M) { servertest.Main(m) }

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

// A client that vanishes keeps its node for the whole timeout, and for at most two ticks longer.
func TestSilentSessionExpires(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		path := servertest.UniquePath(t)
		other := servertest.ConnectZooKeeper(t, server.Addr, 20*time.Second)
		w := newWorld(t, server.Addr)
		w.play("silent connects 1000")
		lastWord := time.Now() // before the reply, which may be read late
		w.play("silent create " + path + ` null 1
			silent vanishes`)
		_, _, events, err := other.ExistsW(path)
		must.Succeed(t, err)
		must.Equal(t, awaitEvent(t, events).Type, zk.EventNodeDeleted, "event")
		took := time.Since(lastWord) // the timeout is 1 s, and a tick is 500 ms
		must.True(t, took >= 950*time.Millisecond && took <= 20*time.Second, "expired after", took)
		w.play("silent resumes silent 1000\nsilent ends")
	})
}

func TestContainersAreReaped(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{ReapInterval: 10 * time.Millisecond})
	w := newWorld(t, server.Addr)
	w.play(`a connects
		a container /used null 4
		a container /unused null 4
		a create /used/child null 0`)
	c := servertest.ConnectZooKeeper(t, server.Addr, 20*time.Second)
	_, _, events, err := c.ExistsW("/used")
	must.Succeed(t, err)
	w.play("a delete /used/child -1")
	must.Equal(t, awaitEvent(t, events).Type, zk.EventNodeDeleted, "event of /used")
	ok, _, err := c.Exists("/unused")
	must.True(t, ok && err == nil, "/unused exists", ok, err)
}

// Answers to a client that does not read are bounded, and others are served meanwhile.
func TestNonReadingClientIsDisconnected(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	good := servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
	must.Have(good.Create("/big", make([]byte, 900_000), 0, zk.WorldACL(zk.PermAll)))(t)
	w := newWorld(t, server.Addr)
	w.play("deaf connects")
	for i := range 200 {
		w.play(fmt.Sprintf("deaf posts %d get /big", i))
	}
	reports := busy{server, w}
	must.Become(t, "the connection is dropped", func() bool { return len(reports.command(t, "connections")["connections"].([]any)) <= 1 })
	ok, _, err := good.Exists("/big")
	must.True(t, ok && err == nil, "another client", ok, err)
}

// A client whose connection was dropped comes back with its session, and one that was expired has lost
// its node.
func TestSessionsAreDroppedAndExpired(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	w := newWorld(t, server.Addr)
	w.play("a connects\na create /e null 1")
	id := w.clients["a"].session
	must.Succeed(t, server.Embedded.DropConnection(id))
	w.play("a ends\na resumes a 20000\na exists /e")
	must.Succeed(t, server.Embedded.ExpireSession(id))
	w.play("a ends\nb connects\nb exists /e")
	must.Be(t, server.Embedded.DropConnection(id), zkserver.ErrNoSession)
	must.Equal(t, strings.Count(w.log.String(), "a: end: closed"), 2, "ends of a", w.log.String())
	must.Contain(t, w.log.String(), "a exists /e: xid 2 zxid 2 code 0")
	must.Contain(t, w.log.String(), "b exists /e: xid 1 zxid 4 code -101")
}

// Close returns even with connected clients, and can be called twice. It waits for the accepting goroutine, so the
// server no longer listens. (A dial would prove nothing: another process may have the port by now.)
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	server := must.Have(zkserver.Start(zkserver.Config{}))(t)
	for range 3 {
		must.Have(servertest.ConnectZooKeeper(t, server.Addr(), 20*time.Second).Sync("/"))(t)
	}
	idle := must.Have(net.Dial("tcp", server.Addr()))(t)
	defer idle.Close()
	for range 2 {
		must.Be(t, server.Close(), nil)
	}
	n, err := idle.Read(make([]byte, 1))
	must.True(t, err != nil, "an idle connection read", n, "bytes")
}
