package zkwire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// clientLog is go-zookeeper's log, which must not mention unexpected replies.
type clientLog struct{ testing.TB }

func (l clientLog) Printf(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); strings.Contains(text, "Xid") || strings.Contains(text, "xid") {
		l.Error(text)
	}
}

// through connects go-zookeeper through a tap and waits for its session.
func through(t testing.TB, tap *Tap, timeout time.Duration, servers ...string) (*zk.Conn, <-chan zk.State) {
	t.Helper()
	states := make(chan zk.State, 1000)
	conn, events, err := zk.Connect(servers, timeout, zk.WithDialer(tap.Dial), zk.WithHostProvider(new(ServerList)),
		zk.WithLogger(clientLog{t}), zk.WithEventCallback(func(e zk.Event) {
			if e.Type == zk.EventSession {
				states <- e.State
			}
		}))
	must.Succeed(t, err)
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn, states
}

func await(t testing.TB, states <-chan zk.State, want zk.State) {
	t.Helper()
	limit := time.After(60 * time.Second)
	for {
		select {
		case s := <-states:
			if s == want {
				return
			}
		case <-limit:
			t.Fatalf("%v did not come", want)
		}
	}
}

func server(t testing.TB) *zkserver.Server {
	t.Helper()
	s := must.Have(zkserver.Start(zkserver.Config{TickTime: 100 * time.Millisecond, MaxSessionTimeout: 10 * time.Second}))(t)
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
	conn, states := through(t, tap, time.Minute, s.Addr())
	await(t, states, zk.StateHasSession)
	if id, timeout := tap.Session(); id != conn.SessionID() || timeout != 10*time.Second || tap.Server() != s.Addr() {
		t.Errorf("session 0x%x, %v at %q", id, timeout, tap.Server())
	}
	greeted, requests := lastAck(tap), tap.Requests()
	before := time.Now()
	if _, _, err := conn.Children("/"); err != nil {
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
	conn, states := through(t, tap, 10*time.Second, s.Addr())
	await(t, states, zk.StateHasSession)
	old := conn.SessionID()
	must.Succeed(t, s.ExpireSession(old))
	await(t, states, zk.StateExpired)
	await(t, states, zk.StateHasSession)
	if id, _ := tap.Session(); id == old || id == 0 {
		t.Errorf("session 0x%x after 0x%x expired", id, old)
	}
	s.Close()
	for tap.DialError() == nil {
		await(t, states, zk.StateConnecting)
	}
	must.Equal(t, tap.Server(), "", "still connected to")
}

// The client leaves a server that accepts and then hangs, in the greeting or later, while its session
// is still alive.
func TestTapLeavesAHungServer(t *testing.T) {
	s := server(t)
	hung := newHang(t, s.Addr())
	tap := &Tap{}
	const timeout = 9 * time.Second
	conn, states := through(t, tap, timeout, hung.addr())
	await(t, states, zk.StateHasSession)
	id := conn.SessionID()
	hung.hang()
	start := time.Now()
	if _, _, err := conn.Children("/"); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Errorf("request to a hung server: %v", err)
	}
	if took := time.Since(start); took < timeout/4 || took > timeout {
		t.Errorf("left after %v, want about a third of %v", took, timeout)
	}
	await(t, states, zk.StateConnecting)
	await(t, states, zk.StateConnected)
	await(t, states, zk.StateDisconnected) // the greeting hangs, too, which is noticed after a sixth
	must.True(t, tap.DialError() != nil, "no error although the server never answered")
	hung.resume()
	await(t, states, zk.StateHasSession)
	must.Equal(t, conn.SessionID(), id, "the session was lost")
}

// hang is a proxy that passes on everything or nothing.
type hang struct {
	listener net.Listener
	mu       sync.Mutex
	passing  chan struct{} // closed while it passes data
	conns    []net.Conn
	heard    []*bytes.Buffer // data sent by the client of each connection
	work     sync.WaitGroup
	end      chan struct{}
}

func newHang(t testing.TB, target string) *hang {
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	h := &hang{listener: l, passing: make(chan struct{}), end: make(chan struct{})}
	close(h.passing)
	h.work.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			heard := new(bytes.Buffer)
			h.mu.Lock()
			h.conns, h.heard = append(h.conns, in, out), append(h.heard, heard)
			h.mu.Unlock()
			h.work.Go(func() { h.pass(in, out, heard) })
			h.work.Go(func() { h.pass(out, in, new(bytes.Buffer)) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(h.end)
		h.mu.Lock()
		for _, c := range h.conns {
			c.Close()
		}
		h.mu.Unlock()
		h.work.Wait()
	})
	return h
}

func (h *hang) addr() string { return h.listener.Addr().String() }

func (h *hang) pass(from, to net.Conn, heard *bytes.Buffer) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		h.mu.Lock()
		passing := h.passing
		heard.Write(buf[:n])
		h.mu.Unlock()
		select {
		case <-passing:
		case <-h.end:
			return
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (h *hang) hang() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passing = make(chan struct{})
}

// cut ends all connections.
func (h *hang) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.conns {
		c.Close()
	}
}

// newest returns the bytes sent by the client of the newest connection.
func (h *hang) newest() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.heard[len(h.heard)-1].Bytes())
}

func (h *hang) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.passing)
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

// script is a connection that delivers the input in pieces of one size, and accepts all writes.
type script struct {
	net.Conn
	input    io.Reader
	piece    int
	deadline time.Time // for reads
}

func (s *script) Read(p []byte) (int, error)        { return s.input.Read(p[:min(len(p), s.piece)]) }
func (s *script) Write(p []byte) (int, error)       { return len(p), nil }
func (s *script) SetReadDeadline(t time.Time) error { s.deadline = t; return nil }
func (s *script) SetWriteDeadline(time.Time) error  { return nil }
func (s *script) Close() error                      { return nil }

func frame(words ...int32) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.BigEndian, int32(4*len(words)))
	_ = binary.Write(&b, binary.BigEndian, words)
	return b.Bytes()
}

// tapped is a tapped connection that has sent its connect request and a ping.
func tapped(input []byte, piece int) (*Tap, *tapConn) {
	tap := &Tap{}
	c := tap.newConn(&script{input: bytes.NewReader(input), piece: piece}, "test:1")
	tap.current = c
	_, _ = c.Write(frame(0, 0, 0, 4000, 0, 0, 0))
	_, _ = c.Write(frame(xidPing, 11))
	return tap, c
}

func TestTapReassemblesSplitFrames(t *testing.T) {
	t.Parallel()
	greeting := frame(0, 4000, 0x1234, 0x5678, 0)
	input := append(append(bytes.Clone(greeting), frame(xidEvent, 0, 0, 0, 1, 3, 0)...), frame(xidPing, 0, 0, 0)...)
	for piece := 1; piece <= len(input); piece++ {
		tap, c := tapped(input, piece)
		hello := lastAck(tap)
		_, _ = c.Write(frame(xidPing, 11))
		got, err := io.ReadAll(c)
		id, timeout := tap.Session()
		if err != nil || !bytes.Equal(got, input) || id != 0x1234_0000_5678 || timeout != 4*time.Second || !lastAck(tap).After(hello) {
			t.Fatalf("pieces of %d: %d bytes, %v, session 0x%x, %v", piece, len(got), err, id, timeout)
		}
	}
}

func TestTapRejectsBadFrames(t *testing.T) {
	t.Parallel()
	greeting := frame(0, 4000, 0, 1, 0)
	for name, input := range map[string][]byte{
		"huge greeting":            {0x7f, 0xff, 0xff, 0xff, 0, 0},
		"negative length":          {0xff, 0xff, 0xff, 0xff, 0, 0},
		"empty greeting":           frame(),
		"an error, not a greeting": frame(0, 0, 1, errConnectionLoss),
		"short reply":              append(bytes.Clone(greeting), frame(1, 2)...),
		"negative reply":           append(bytes.Clone(greeting), 0x80, 0, 0, 0),
		"long reply":               append(bytes.Clone(greeting), 0x04, 0, 0, 1),
		"not asked for":            append(bytes.Clone(greeting), frame(1, 0, 1, 0)...),
		"event without a path":     append(bytes.Clone(greeting), frame(xidEvent, 0, 0, 0, 1, 3, -1)...),
	} {
		tap, c := tapped(input, 4)
		if _, err := io.ReadAll(c); !errors.Is(err, connect.ErrNonsense) {
			t.Errorf("%s: %v, want connect.ErrNonsense", name, err)
		}
		if _ = c.Close(); !strings.Contains(fmt.Sprint(tap.DialError()), connect.ErrNonsense.Error()) {
			t.Errorf("%s: the tap says %v", name, tap.DialError())
		}
	}
	tap, c := tapped(append(bytes.Clone(greeting), frame(xidPing, 0, 0, errSessionMoved)...), 100)
	_, _ = io.ReadAll(c)
	must.True(t, lastAck(tap).Equal(c.hello), "a refused ping counts as acknowledged")
}

// forClient models the tap: go-zookeeper sees only complete frames of its own.
func forClient(in []byte) (seen []byte) {
	for first := true; len(in) >= 4; first = false {
		size := int(binary.BigEndian.Uint32(in))
		if len(in) < 4+size {
			break
		}
		if ours := size >= 4 && int32(binary.BigEndian.Uint32(in[4:])) <= firstXid; first || !ours {
			seen = append(seen, in[:4+size]...)
		}
		in = in[4+size:]
	}
	return seen
}

func FuzzTap(f *testing.F) {
	f.Add(frame(0, 4000, 0, 1, 0), frame(7, opCreate, 2, 0x2f710000), 3)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, []byte{0, 0, 0, 4, 1}, 1)
	f.Add(frame(0, 4000, 0, 1, 0), frame(7, opCreate, -1), 1)
	f.Add(slices.Concat(frame(0, 4000, 0, 1, 0), frame(firstXid, 0, 7, 0, 1), frame(xidPing, 0, 0, 0)), []byte{}, 5)
	f.Fuzz(func(t *testing.T, in, out []byte, piece int) {
		_, c := tapped(in, 1+max(piece, 0)%64)
		for p := out; len(p) > 0; {
			n := min(len(p), 1+max(piece, 0)%64)
			_, _ = c.Write(p[:n])
			p = p[n:]
		}
		got, err := io.ReadAll(c)
		if want := forClient(in); err == nil && !bytes.Equal(got, want) || !bytes.HasPrefix(want, got) {
			t.Errorf("read %x of %x, want %x, %v", got, in, want, err)
		}
		if cap(c.out.head) > 4*maxRequest || cap(c.in.head) > firstRoom+len(in) {
			t.Error("memory grows with the input")
		}
	})
}

func lastAck(tap *Tap) time.Time {
	_, _, at := tap.Lease()
	return at
}
