package connect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// RefusedError says why a connection ended before the server's first reply, or why none can arrive.
type RefusedError struct {
	// Why is a sentence that includes what to do about it.
	Why string
	Err error
}

func (e *RefusedError) Error() string { return e.Why }

// Unwrap returns the connection's error in a list, since go-redis removes the outermost layer of a
// handshake error.
func (e *RefusedError) Unwrap() []error { return []error{e.Err} }

// unexplained is a hint about a connection that ended for an unknown reason.
type unexplained struct {
	hint string
	err  error
}

func (e *unexplained) Error() string   { return e.hint }
func (e *unexplained) Unwrap() []error { return []error{e.err} } // see RefusedError

const (
	unanswered = "connection lost before the server's first answer: perhaps a proxy such as twemproxy, " +
		"a port for TLS, or another service " +
		"(use the servers behind the proxy, rediss://, or the right port)"
	silentTLS = "no answer to the TLS handshake in time " +
		"(if the port does not use TLS, use redis:// instead of rediss://, zk:// instead of zks://)"
	noTLS = "the port does not speak TLS (use redis:// instead of rediss://, zk:// instead of zks://, " +
		"or the server's port for TLS)"
	closedTLS = "the server closed the connection before TLS began: " +
		"it may be a Redis that has reached its client limit (maxclients), " +
		"a proxy without a server behind it, or a port without TLS (close other connections, " +
		"raise maxclients, or check the port)"
)

// dialFunc connects to a server, with TLS or without.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// misfit explains the first bytes of another kind of server, or of one with TLS; empty if they are
// inconclusive.
func misfit(first []byte) string {
	switch {
	case bytes.HasPrefix(first, []byte("HTTP")):
		return "a web server answers there (use the server's port for clients; " +
			"the address of an AdminServer goes into admin=)"
	case bytes.HasPrefix(first, []byte{0x15, 3}): // a TLS alert
		return "the port speaks TLS (use rediss:// instead of redis://, zks:// instead of zk://, " +
			"or the server's port without TLS)"
	}
	return ""
}

// NotZooKeeper explains a server's first bytes if they are not a ZooKeeper frame; empty if they are
// inconclusive.
func NotZooKeeper(first []byte) string {
	if bytes.HasPrefix(first, []byte("-")) {
		return "a Redis server answers there (use redis:// instead of zk://, rediss:// instead of zks://, " +
			"or ZooKeeper's port)"
	}
	return misfit(first)
}

// handshakeError explains why TLS did not begin.
func handshakeError(err error) error {
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, new(*RefusedError)): // from a jump host or proxy
		return err
	case errors.As(err, &header):
		return &RefusedError{cmp.Or(misfit(header.RecordHeader[:]), noTLS), err}
	case dropped(err):
		return &unexplained{closedTLS, err}
	case TimedOut(err):
		return &unexplained{silentTLS, err}
	}
	return err
}
