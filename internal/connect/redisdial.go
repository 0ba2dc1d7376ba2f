package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// plainDialer dials a Redis server or Sentinel without TLS. secrets may be nil.
func plainDialer(dial dialFunc, secrets *Renewal) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &greeted{Conn: conn, peek: conn, secrets: secrets}, nil
	}
}

// BoundReplies closes a Redis client's connection on invalid replies: see ErrNonsense.
func BoundReplies(conn net.Conn) net.Conn {
	switch conn.(type) {
	case *greeted, *bounded, boundedSocket:
		return conn
	}
	if socket, ok := conn.(syscall.Conn); ok {
		return boundedSocket{&bounded{Conn: conn}, socket}
	}
	return &bounded{Conn: conn}
}

// boundedSocket lets go-redis ask the kernel whether it is still open.
type boundedSocket struct {
	*bounded
	syscall.Conn
}

// bounded is a connection that checks each reply before it is read.
type bounded struct {
	net.Conn
	bounds respBounds
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.bounds.bad != nil { // go-redis reads on after some errors
		return 0, b.bounds.bad
	}
	n, err := b.Conn.Read(p)
	if bad := b.bounds.take(p[:n]); bad != nil {
		return 0, bad
	}
	return n, err
}

// greeted is a connection that explains why it ended before the server's first reply.
type greeted struct {
	net.Conn
	bounds   respBounds
	peek     net.Conn // the connection that go-redis may inspect; nil if it may not
	secrets  *Renewal // of the login; may be nil
	answered atomic.Bool
	refused  atomic.Pointer[RefusedError] // set once
}

// NetConn returns the connection itself once the server has replied, so that go-redis can check
// whether it was closed while idle. Until then it returns nil, so that only Read and Write notice
// the end.
func (g *greeted) NetConn() net.Conn {
	if !g.answered.Load() {
		return nil
	}
	return g.peek
}

func (g *greeted) Read(p []byte) (int, error) {
	if g.bounds.bad != nil { // go-redis reads on after some errors
		return 0, g.bounds.bad
	}
	n, err := g.Conn.Read(p)
	if n > 0 && !g.answered.Load() {
		if why := refusal(p[:n]); why != "" { // go-redis would take it for the reply to HELLO, and lose it
			return 0, g.refuse(why, io.EOF)
		}
		g.secrets.heed(p[:n])
		g.answered.Store(true)
	}
	if bad := g.bounds.take(p[:n]); bad != nil {
		return 0, bad
	}
	return n, g.explain(err)
}

func (g *greeted) Write(p []byte) (int, error) {
	n, err := g.Conn.Write(p)
	return n, g.explain(err)
}

// explain finds the reason in the server's last bytes.
func (g *greeted) explain(err error) error {
	if g.answered.Load() || !dropped(err) {
		return err
	}
	if refused := g.refused.Load(); refused != nil {
		return refused
	}
	if errors.As(err, new(*RefusedError)) { // from a jump host or proxy
		return err
	}
	const within = 100 * time.Millisecond // the server's last bytes have already arrived
	_ = g.Conn.SetReadDeadline(time.Now().Add(within))
	last := make([]byte, 512)
	n, _ := g.Conn.Read(last)
	if why := refusal(last[:n]); why != "" {
		return g.refuse(why, err)
	}
	return &unexplained{unanswered, err}
}

func (g *greeted) refuse(why string, err error) error {
	refused := &RefusedError{why, err}
	g.refused.Store(refused)
	return refused
}

// refusal explains the first bytes of a server that then closes the connection; "" if they are a
// reply.
func refusal(first []byte) string {
	reply, _, _ := strings.Cut(string(first), "\r\n")
	switch {
	case strings.HasPrefix(reply, "-ERR max number of clients"):
		return reply[1:] + " (close other connections, or raise the server's maxclients)"
	case strings.HasPrefix(reply, "-DENIED "): // protected mode; it explains itself at length
		reply, _, _ = strings.Cut(reply, ". ")
		return reply[1:] + " (set a password on the server, or connect from its own host)"
	}
	return misfit(first)
}
