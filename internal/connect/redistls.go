package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
)

// tlsDialer dials a Redis server or Sentinel with TLS, over a connection from plain. secrets may be
// nil.
func tlsDialer(plain dialFunc, config *tls.Config, secrets *Renewal) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := Handshake(ctx, plain, config, network, addr)
		if err != nil {
			return nil, err
		}
		return &greeted{Conn: conn, secrets: secrets}, nil
	}
}

// Handshake dials and speaks TLS; an empty ServerName is filled in with the host.
func Handshake(
	ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), config *tls.Config,
	network, addr string,
) (net.Conn, error) {
	raw, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, handshakeError(err)
	}
	return conn, nil
}

// dropped reports whether an established connection ended without an alert that says why.
func dropped(err error) bool {
	return !NotDialled(err) &&
		(errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE))
}
