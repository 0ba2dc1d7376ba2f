package connect_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// ping pings the server at addr with a target's options, as every command does.
func ping(t *testing.T, addr string) error {
	t.Helper()
	return pingBy(t, connect.Target{Service: connect.RedisMasters, Servers: []string{addr}})
}

// fillClients connects until the server is full.
func fillClients(t *testing.T, addr string) {
	t.Helper()
	for {
		conn := must.Have(net.Dial("tcp", addr))(t)
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
			return
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "+PONG") {
			return
		}
	}
}

// The error of a full server, which answers once and closes, is recognized.
func TestReportsFullServer(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, "--maxclients", "3")
	fillClients(t, server.Addr)
	var refused *connect.RefusedError
	err := ping(t, server.Addr)
	if !errors.As(err, &refused) || !connect.Unreachable(err) || !strings.HasPrefix(connect.Reason(err), "ERR max number of clients reached (") || !strings.Contains(connect.Reason(err), "maxclients") {
		t.Errorf("%v", err)
	}
}

// The error quotes the first sentence of a server that refuses a client. A server that expects TLS
// is recognized.
func TestEarlyDisconnectIsExplained(t *testing.T) {
	protected := connect.Listen(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "-DENIED Redis is running in protected mode. In this mode\x1b connections are only accepted from the loopback interface.\r\n")
	})
	alerted := connect.Listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "\x15\x03\x03\x00\x02\x02\x46") })
	silent := connect.Listen(t, func(net.Conn) {})
	for addr, want := range map[string]string{
		protected: "DENIED Redis is running in protected mode (set a password on the server, or connect from its own host)",
		alerted:   "the port speaks TLS (use rediss:// instead of redis://, zks:// instead of zk://, or the server's port without TLS)",
	} {
		if err := ping(t, addr); err == nil || connect.Reason(err) != want {
			t.Errorf("%#v, want %q", err, want)
		}
	}
	var refused *connect.RefusedError
	if err := ping(t, silent); err == nil || errors.As(err, &refused) || !strings.Contains(connect.Reason(err), "before the server's first answer") {
		t.Errorf("a server that closes without an answer: %v", err)
	}
}

// After the first reply nothing is checked: a later reply like a refusal is passed on, and so is the
// end of the connection.
func TestErrorsAfterFirstReplyPassThrough(t *testing.T) {
	t.Parallel()
	addr := connect.Listen(t, func(c net.Conn) {
		for _, reply := range []string{"+OK\r\n", "-ERR max number of clients reached\r\n"} {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				return
			}
			_, _ = io.WriteString(c, reply)
		}
	})
	conn := must.Have(connect.PlainDialer(new(net.Dialer).DialContext)(t.Context(), "tcp", addr))(t)
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for _, want := range []string{"+OK\r\n", "-ERR max number of clients reached\r\n"} {
		_, _ = io.WriteString(conn, "?")
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := lines.ReadByte(); err != io.EOF {
		t.Errorf("%v", err)
	}
}
