package connect

import (
	"context"
	"net"
)

// Exports for the external tests, which may use zkwire.
var Listen = listen

// PlainDialer dials without renewable secrets.
func PlainDialer(
	dial func(ctx context.Context, network, addr string) (net.Conn, error),
) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return plainDialer(dial, nil)
}

const RedisPassword = redisPassword

// Waited reports whether the process behind a connection was waited for.
func Waited(c net.Conn) bool { return c.(*viaConn).cmd.ProcessState != nil }
