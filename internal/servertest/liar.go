package servertest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// Liar is a proxy in front of a server that answers some of the requests itself.
type Liar struct {
	Addr string

	mu    sync.Mutex
	conns map[net.Conn]bool
	ended bool
	all   sync.WaitGroup
}

// Relay forwards the nth piece of a connection's replies to the client; an error ends the
// connection.
type Relay func(n int, said []byte, client io.Writer) error

// StartRelay starts a proxy for the server at addr that passes all of its answers through relay. It
// returns the proxy's address.
func StartRelay(t testing.TB, addr string, relay Relay) string {
	t.Helper()
	return startLiar(t, func(int) string { return addr }, func(int, []byte, io.Writer) bool { return false }, relay).Addr
}

// Answer may answer the nth piece of a connection's requests; false leaves it to the server.
type Answer func(n int, requests []byte, client io.Writer) bool

// StartLiar starts a Liar in front of the server at addr.
func StartLiar(t testing.TB, addr string, answer Answer) *Liar {
	t.Helper()
	return startLiar(t, func(int) string { return addr }, answer, passOn)
}

// passOn is a Relay that changes nothing.
func passOn(_ int, said []byte, client io.Writer) error {
	_, err := client.Write(said)
	return err
}

// startLiar starts a Liar in front of several servers; pick chooses the server for the nth
// connection.
func startLiar(t testing.TB, pick func(n int) string, answer Answer, relay Relay) *Liar {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	l := &Liar{Addr: listener.Addr().String(), conns: map[net.Conn]bool{}}
	l.all.Go(func() {
		for n := 0; ; n++ {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			l.all.Go(func() { l.serve(client, pick(n), answer, relay) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.mu.Lock()
		l.ended = true
		for conn := range l.conns {
			conn.Close()
		}
		l.mu.Unlock()
		l.all.Wait()
	})
	return l
}

// keep makes a connection end together with the liar.
func (l *Liar) keep(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[conn] = true; l.ended {
		conn.Close()
	}
}

func (l *Liar) leave(conn net.Conn) {
	conn.Close()
	l.mu.Lock()
	delete(l.conns, conn)
	l.mu.Unlock()
}

func (l *Liar) serve(client net.Conn, addr string, answer Answer, relay Relay) {
	l.keep(client)
	defer l.leave(client)
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	l.keep(server)
	defer l.leave(server)
	l.all.Go(func() {
		defer client.Close()
		said := make([]byte, 64<<10)
		for i := 0; ; i++ {
			n, err := server.Read(said)
			if err != nil || relay(i, said[:n], client) != nil {
				return
			}
		}
	})
	requests := make([]byte, 64<<10)
	for i := 0; ; i++ {
		n, err := client.Read(requests)
		if err != nil {
			return
		}
		if answer(i, requests[:n], client) {
			continue
		}
		if _, err := server.Write(requests[:n]); err != nil {
			return
		}
	}
}

// ZooKeeperRequest finds the first request of an operation among several, and returns its xid.
func ZooKeeperRequest(requests []byte, op int32) (xid int32, found bool) {
	for len(requests) >= 12 {
		size := int(binary.BigEndian.Uint32(requests))
		if int32(binary.BigEndian.Uint32(requests[8:])) == op {
			return int32(binary.BigEndian.Uint32(requests[4:])), true
		}
		requests = requests[min(4+size, len(requests)):]
	}
	return 0, false
}

// ZooKeeperReply is a successful reply with this body.
func ZooKeeperReply(xid int32, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, 1)
	b = binary.BigEndian.AppendUint32(b, 0)
	return append(b, body...)
}
