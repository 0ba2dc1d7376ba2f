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
	mu        sync.Mutex
	listeners map[string]*listener
	pairs     map[*pair]struct{}
}

func newNetwork() *network {
	return &network{listeners: map[string]*listener{}, pairs: map[*pair]struct{}{}}
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

type listener struct {
	net   *network
	addr  address
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	held  bool // its connections deliver nothing; guarded by network.mu
}

func (n *network) listen(addr string) *listener {
	l := &listener{net: n, addr: address(addr), conns: make(chan net.Conn), done: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[addr] = l
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return l.addr }

// dial connects to a listener.
func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	p := &pair{net: n, listener: l}
	up, down := newStream(p), newStream(p)
	p.streams = [2]*stream{up, down}
	client := &memConn{pair: p, in: down, out: up, local: "127.0.0.1:1", remote: l.addr}
	server := &memConn{pair: p, in: up, out: down, local: l.addr, remote: "127.0.0.1:1"}
	select {
	case l.conns <- server:
	case <-l.done:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	n.pairs[p] = struct{}{}
	n.mu.Unlock()
	return client, nil
}

// hold stops data to and from a listener, or lets it pass again.
func (n *network) hold(addr string, held bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[addr].held = held
	for p := range n.pairs {
		for _, s := range p.streams {
			s.changed.Broadcast()
		}
	}
}

// cut ends the connections with a listener. With lose it waits for the next write and drops it, so
// that a request is executed but its answer is lost.
func (n *network) cut(addr string, lose bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p := range n.pairs {
		if string(p.listener.addr) != addr {
			continue
		}
		if lose {
			p.streams[1].lose = true
		} else {
			p.end()
		}
	}
}

// pair is a connection of two streams.
type pair struct {
	net      *network
	listener *listener
	streams  [2]*stream // to the server, to the client
}

// end closes both directions. Callers hold network.mu.
func (p *pair) end() {
	delete(p.net.pairs, p)
	for _, s := range p.streams {
		s.closed = true
		s.changed.Broadcast()
	}
}

// stream is one direction of a connection, guarded by network.mu.
type stream struct {
	pair     *pair
	changed  *sync.Cond
	buf      []byte
	closed   bool
	lose     bool // the next write is dropped and ends the connection
	deadline time.Time
	timer    *time.Timer
}

func newStream(p *pair) *stream { return &stream{pair: p, changed: sync.NewCond(&p.net.mu)} }

type memConn struct {
	pair          *pair
	in, out       *stream
	local, remote address
}

func (c *memConn) Read(p []byte) (int, error) {
	c.pair.net.mu.Lock()
	defer c.pair.net.mu.Unlock()
	s := c.in
	for {
		switch {
		case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
			return 0, os.ErrDeadlineExceeded
		case s.closed:
			return 0, io.EOF
		case len(s.buf) > 0 && !c.pair.listener.held:
			n := copy(p, s.buf)
			s.buf = s.buf[n:]
			return n, nil
		}
		s.changed.Wait()
	}
}

func (c *memConn) Write(p []byte) (int, error) {
	c.pair.net.mu.Lock()
	defer c.pair.net.mu.Unlock()
	if c.out.closed {
		return 0, net.ErrClosed
	}
	if c.out.lose {
		c.pair.end()
		return len(p), nil
	}
	c.out.buf = append(c.out.buf, p...)
	c.out.changed.Broadcast()
	return len(p), nil
}

func (c *memConn) Close() error {
	c.pair.net.mu.Lock()
	defer c.pair.net.mu.Unlock()
	c.pair.end()
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) } // writes never block

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.pair.net.mu.Lock()
	defer c.pair.net.mu.Unlock()
	s := c.in
	s.deadline = t
	if s.timer != nil {
		s.timer.Stop()
	}
	if !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), func() {
			c.pair.net.mu.Lock()
			defer c.pair.net.mu.Unlock()
			s.changed.Broadcast()
		})
	}
	s.changed.Broadcast()
	return nil
}

func (c *memConn) SetWriteDeadline(time.Time) error { return nil }
