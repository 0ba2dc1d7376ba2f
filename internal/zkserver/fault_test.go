package zkserver_test

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/jute"
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

// The server continues to serve others, whatever a client sends.
func TestNoiseHarmsNoOtherClient(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	good := servertest.ConnectZooKeeper(t, server.Addr, 20*time.Second)
	hello := (&wire{w: &world{t: t}}).record("ililb", "0", "0", "4000", "0", string(make([]byte, 16)))
	session := jute.AppendBuffer(nil, hello)
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
		_, _, err := good.Exists("/")
		must.Be(t, err, nil, "after", noise)
		conn.Close()
	}
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

// startMembers starts an ensemble and returns its addresses. The first member leads.
func startMembers(t *testing.T) (addrs []string) {
	t.Helper()
	var listeners []net.Listener
	for range 3 {
		l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
		listeners, addrs = append(listeners, l), append(addrs, l.Addr().String())
	}
	sameAsAlone := zkserver.Config{TickTime: time.Second / 2, MaxSessionTimeout: 40 * time.Second} // see servertest
	e := must.Have(zkserver.StartEnsemble(sameAsAlone, 5, listeners...))(t)
	t.Cleanup(e.Close)
	return addrs
}

// A session that moves to another member leaves the first one.
func TestMovedSessionLeavesItsMember(t *testing.T) {
	t.Parallel()
	addrs := startMembers(t)
	w := newWorld(t, addrs[0])
	w.play("a connects")
	w.addr = addrs[1]
	w.play("b resumes a 4000\na ends\nb ping")
	must.Contain(t, w.log.String(), "a: end: closed")
	must.Contain(t, w.log.String(), "b ping: xid -2 zxid 1 code 0")
}

// Members answer like a single server, except for these steps. They do not answer the end of a session, and
// keep a connection despite a wrong password.
func TestMembersAnswerLikeSingleServer(t *testing.T) {
	t.Parallel()
	alike := func(text []byte) []string {
		return each.Where(lines(text), func(line string) bool {
			return !strings.Contains(line, " bye: ") && !strings.HasPrefix(line, "a raw sync: ")
		})
	}
	possible := func(f txtar.File) bool { return f.Name != "a wrong password" }
	want := each.Where(must.Have(txtar.ParseFile("testdata/transcripts.txtar"))(t).Files, possible)
	for member, name := range []string{"leader", "follower"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := each.Where(scenarios(t), possible)
			play(t, startMembers(t)[member], got)
			for i := range want {
				must.NoDiff(t, cmp.Diff(alike(want[i].Data), alike(got[i].Data)), want[i].Name, "- single server, +", name)
			}
		})
	}
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
