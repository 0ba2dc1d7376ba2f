package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// silentFor is the time after which a server that has not answered a TLS greeting is asked whether it speaks
// plain text: Redis takes the greeting for the beginning of a command, and waits for the rest of it.
const silentFor = 250 * time.Millisecond

// tlsDialer dials a Redis server or Sentinel with TLS, by plain.
func tlsDialer(plain dialFunc, config *tls.Config) dialFunc {
	secure := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return Handshake(ctx, plain, config, network, addr)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		limited, cancel := context.WithCancelCause(ctx)
		var asking sync.WaitGroup
		asking.Go(func() {
			// A busy machine may be late to read the answer: asked again, ever more seldom.
			for pause := silentFor; ; pause *= 2 {
				select {
				case <-limited.Done():
					return
				case <-time.After(pause):
				}
				p := spoken(limited, plain, network, addr)
				if why := notSecureRedis(p); why != "" {
					cancel(&RefusedError{why, os.ErrDeadlineExceeded})
				}
				if p != unknownProtocol {
					return
				}
			}
		})
		conn, err := secure(limited, network, addr)
		cancel(nil)
		asking.Wait()
		var refused *RefusedError
		switch {
		case err == nil:
			return &greeted{Conn: conn, dial: secure, network: network, addr: addr}, nil
		case errors.As(context.Cause(limited), &refused), errors.As(err, &refused):
			return nil, refused
		case dropped(err):
			return nil, &RefusedError{cmp.Or(notSecureRedis(spoken(ctx, plain, network, addr)), fullOrClosed), err}
		case unencrypted(err):
			if why := notSecureRedis(spoken(ctx, plain, network, addr)); why != "" {
				return nil, &RefusedError{why, err}
			}
		}
		return nil, err
	}
}

// Handshake dials and speaks TLS; an empty ServerName is filled in with the host.
func Handshake(ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), config *tls.Config, network, addr string) (net.Conn, error) {
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
		return nil, err
	}
	return conn, nil
}

// dropped reports whether a connection that was made was ended without a word, rather than by an alert that tells why.
func dropped(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// unencrypted reports whether a server answered a TLS greeting by something else. Redis does when there is
// the end of a line in it.
func unencrypted(err error) bool {
	var header tls.RecordHeaderError
	return errors.As(err, &header)
}
