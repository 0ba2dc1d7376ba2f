package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// ErrNoTLS is that of a server that speaks Redis in plain text on a port at which TLS was tried. Such a server takes a TLS greeting
// for the beginning of a command, and waits for the rest of it.
var ErrNoTLS = errors.New("the port speaks no TLS (give redis:// for rediss://, or the server's port for TLS)")

// silentFor is the time after which a server that has not answered a TLS greeting is asked whether it speaks plain text.
const silentFor = 250 * time.Millisecond

// tlsDialer dials a Redis server or Sentinel with TLS.
func tlsDialer(config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		var asking sync.WaitGroup
		asking.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(silentFor):
			}
			if speaksPlain(ctx, network, addr) {
				cancel(ErrNoTLS)
			}
		})
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, network, addr)
		cancel(nil)
		asking.Wait()
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrNoTLS) {
			return nil, cause
		}
		return conn, err
	}
}

// speaksPlain reports whether a server answers a Redis command in plain text. That it asks for a password is an answer too.
func speaksPlain(ctx context.Context, network, addr string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	reply := make([]byte, 1)
	_, err = io.ReadFull(conn, reply)
	return err == nil && strings.ContainsAny(string(reply), "+-")
}
