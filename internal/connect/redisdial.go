package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// plainDialer dials a Redis server or Sentinel without TLS, by dial.
func plainDialer(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &greeted{Conn: conn, peek: conn, dial: dial, network: network, addr: addr}, nil
	}
}

// BoundReplies ends a connection of a Redis client on which the server says what no server says: see ErrNonsense.
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

// bounded is a connection of which each reply is checked before it is read.
type bounded struct {
	net.Conn
	bounds respBounds
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.bounds.bad != nil { // go-redis reads on behind some errors
		return 0, b.bounds.bad
	}
	n, err := b.Conn.Read(p)
	if bad := b.bounds.take(p[:n]); bad != nil {
		return 0, bad
	}
	return n, err
}

// greeted is a connection that looks for the reason when it ends before the server's first reply.
type greeted struct {
	net.Conn
	bounds        respBounds
	peek          net.Conn // the connection as far as go-redis may look into it; nil: not at all
	dial          dialFunc // another such connection
	network, addr string
	answered      atomic.Bool
	refused       atomic.Pointer[RefusedError] // found out once
	limit         atomic.Pointer[time.Time]    // the deadline that was last set; zero: none
}

// NetConn is the connection itself, once there was a reply: go-redis looks there for whether the server has
// closed an idle one. Before, it is nil, so that an end is met by Read and Write alone.
func (g *greeted) NetConn() net.Conn {
	if !g.answered.Load() {
		return nil
	}
	return g.peek
}

// keep remembers a deadline for as long as the server may have to be asked.
func (g *greeted) keep(t time.Time) {
	if !g.answered.Load() {
		g.limit.Store(&t)
	}
}

func (g *greeted) SetDeadline(t time.Time) error {
	g.keep(t)
	return g.Conn.SetDeadline(t)
}

func (g *greeted) SetReadDeadline(t time.Time) error {
	g.keep(t)
	return g.Conn.SetReadDeadline(t)
}

func (g *greeted) SetWriteDeadline(t time.Time) error {
	g.keep(t)
	return g.Conn.SetWriteDeadline(t)
}

func (g *greeted) Read(p []byte) (int, error) {
	if g.bounds.bad != nil { // go-redis reads on behind some errors
		return 0, g.bounds.bad
	}
	n, err := g.Conn.Read(p)
	if n > 0 && !g.answered.Load() {
		if why := refusal(p[:n]); why != "" { // go-redis would take it for the reply to its HELLO, and lose it
			return 0, g.refuse(why, io.EOF)
		}
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

func (g *greeted) explain(err error) error {
	var failed net.Error
	var alert tls.AlertError // says why by itself
	if err == nil || g.answered.Load() || errors.Is(err, net.ErrClosed) || errors.As(err, &alert) || errors.As(err, &failed) && failed.Timeout() {
		return err
	}
	if refused := g.refused.Load(); refused != nil {
		return refused
	}
	if errors.As(err, new(*RefusedError)) { // of what we dial through
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askingTakes)
	defer cancel()
	if limit := g.limit.Load(); limit != nil && !limit.IsZero() { // who asked waits no longer for that
		ctx, cancel = context.WithDeadline(ctx, *limit)
		defer cancel()
	}
	if why := refusal(firstWords(ctx, g.dial, g.network, g.addr)); why != "" {
		return g.refuse(why, err)
	}
	if why := notRedis(spoken(ctx, g.dial, g.network, g.addr)); why != "" {
		return g.refuse(why, err)
	}
	if selective(ctx, g.dial, g.network, g.addr) {
		return g.refuse(likelyProxy, err)
	}
	return err
}

func (g *greeted) refuse(why string, err error) error {
	refused := &RefusedError{why, err}
	g.refused.Store(refused)
	return refused
}

// refusal explains the first bytes of a server that closes the connection behind them; "" when they are a reply.
func refusal(first []byte) string {
	const alert = 0x15 // the type of a TLS record
	reply, _, _ := strings.Cut(string(first), "\r\n")
	switch {
	case strings.HasPrefix(reply, "-ERR max number of clients"):
		return reply[1:] + " (close connections of others, or raise the server's maxclients)"
	case strings.HasPrefix(reply, "-DENIED "): // protected mode; it explains itself at length
		reply, _, _ = strings.Cut(reply, ". ")
		return reply[1:] + " (give the server a password, or ask it from its own host)"
	case strings.HasPrefix(reply, "HTTP/"):
		return notRedis(httpProtocol)
	case len(first) > 0 && first[0] == alert:
		return needsTLS
	}
	return ""
}

// firstWords reads what a server sends unasked on a new connection: nothing, where it lets one in. Since nothing
// was written, nothing of it is lost when the server closes.
func firstWords(ctx context.Context, dial dialFunc, network, addr string) []byte {
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return nil
	}
	defer conn.Close()
	until := time.Now().Add(silentFor)
	if limit, limited := ctx.Deadline(); limited && limit.Before(until) {
		until = limit
	}
	_ = conn.SetReadDeadline(until)
	words, _ := io.ReadAll(io.LimitReader(conn, 1024)) // until it closes
	return words
}
