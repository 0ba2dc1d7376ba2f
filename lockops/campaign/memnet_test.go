//go:build unix

package campaign

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// network is an in-process network on the test's clock. Connections deliver bytes in order, and a
// test can cut them, hold them back or drop a message.
type network struct {
	mu        sync.Mutex // guards all fields of this file
	changed   *sync.Cond
	listeners map[string]*listener
	pairs     map[*pair]struct{} // open ones
}

func newNetwork() *network {
	n := &network{listeners: map[string]*listener{}, pairs: map[*pair]struct{}{}}
	n.changed = sync.NewCond(&n.mu)
	return n
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

type listener struct {
	address
	conns   chan net.Conn
	closed  context.Context
	close   context.CancelFunc
	stalled bool // its connections deliver nothing
}

func (n *network) listen(addr string) *listener {
	l := &listener{address: address(addr), conns: make(chan net.Conn)}
	l.closed, l.close = context.WithCancel(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[addr] = l
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.close()
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }

// dial connects to a listener.
func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	p := &pair{listener: l}
	select {
	case l.conns <- &memConn{n, p, toServer}:
	case <-l.closed.Done():
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pairs[p] = struct{}{}
	return &memConn{n, p, toClient}, nil
}

// stall stops all data to and from a listener.
func (n *network) stall(addr string) { n.setStalled(addr, true) }

// resume lets stalled data pass again.
func (n *network) resume(addr string) { n.setStalled(addr, false) }

func (n *network) setStalled(addr string, stalled bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[addr].stalled = stalled
	n.changed.Broadcast()
}

// cut ends the connections with a listener.
func (n *network) cut(addr string) { n.each(addr, n.end) }

// loseAnswer drops the next answer on each connection with a listener, and ends the connection. The
// answer's request is executed.
func (n *network) loseAnswer(addr string) { n.each(addr, func(p *pair) { p.lose = true }) }

// each calls do for the connections with a listener.
func (n *network) each(addr string, do func(p *pair)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p := range n.pairs {
		if p.listener == n.listeners[addr] {
			do(p)
		}
	}
}

// end closes both directions of a connection. Callers hold n.mu.
func (n *network) end(p *pair) {
	p.closed = true
	delete(n.pairs, p)
	n.changed.Broadcast()
}

// The directions of a connection.
const toServer, toClient = 0, 1

// pair is a connection.
type pair struct {
	listener *listener
	streams  [2]stream
	lose     bool // the next answer is dropped and ends the connection
	closed   bool
}

// stream is one direction of a connection.
type stream struct {
	buf      []byte
	deadline time.Time
}

// memConn is one end of a connection. It reads the stream of one direction and writes the other.
type memConn struct {
	net   *network
	pair  *pair
	reads int
}

func (c *memConn) Read(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for s := &c.pair.streams[c.reads]; ; c.net.changed.Wait() {
		switch {
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case c.pair.closed:
			return 0, io.EOF
		case len(s.buf) > 0 && !c.pair.listener.stalled:
			n := copy(p, s.buf)
			s.buf = s.buf[n:]
			return n, nil
		}
	}
}

func (c *memConn) Write(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.pair.closed {
		return 0, net.ErrClosed
	}
	if c.pair.lose && c.reads == toServer {
		c.net.end(c.pair)
		return len(p), nil
	}
	s := &c.pair.streams[1-c.reads]
	s.buf = append(s.buf, p...)
	c.net.changed.Broadcast()
	return len(p), nil
}

func (c *memConn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.net.end(c.pair)
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return address("127.0.0.1:1") }
func (c *memConn) RemoteAddr() net.Addr { return c.pair.listener.address }

func (c *memConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) } // writes never block

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.pair.streams[c.reads].deadline = t
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), func() {
			c.net.mu.Lock()
			defer c.net.mu.Unlock()
			c.net.changed.Broadcast()
		})
	}
	c.net.changed.Broadcast()
	return nil
}

func (c *memConn) SetWriteDeadline(time.Time) error { return nil }
