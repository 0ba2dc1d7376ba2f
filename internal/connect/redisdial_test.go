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

// The error of a full server, which answers once and closes, is recognized. With TLS it closes
// connections before TLS begins.
func TestReportsFullServer(t *testing.T) {
	t.Parallel()
	certs := servertest.NewCertificates(t)
	server, secure := servertest.StartRedisTLS(t, certs, "--maxclients", "3")
	fillClients(t, server.Addr)
	var refused *connect.RefusedError
	err := ping(t, server.Addr)
	must.True(t, errors.As(err, &refused) && connect.Unreachable(err), err)
	must.Contain(t, connect.Reason(err), "maxclients")
	must.True(t, strings.HasPrefix(connect.Reason(err), "ERR max number of clients reached ("), err)
	err = pingBy(t, connect.Target{Service: connect.RedisMasters, Servers: []string{secure}, TLS: &connect.TLS{CA: certs.CA}})
	must.True(t, connect.Unreachable(err) && strings.Contains(connect.Reason(err), "(maxclients)"), err)
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
		err := ping(t, addr)
		must.True(t, err != nil && connect.Reason(err) == want, err, "want", want)
	}
	var refused *connect.RefusedError
	err := ping(t, silent)
	must.True(t, !errors.As(err, &refused), "a server that closes without an answer:", err)
	must.Contain(t, connect.Reason(err), "before the server's first answer")
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
		got, err := lines.ReadString('\n')
		must.True(t, err == nil && got == want, got, err)
	}
	_, err := lines.ReadByte()
	must.Equal(t, err, io.EOF)
}

func TestRefusedLoginRequestsNewSecrets(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.RequireUserAuth("ops", "new")
	login := func(password connect.Secret) connect.Secrets {
		return connect.Secrets{Login: connect.Credentials{Username: "ops", Password: password}}
	}
	asked := 0 // without a lock, since connections do not overlap
	target := connect.Target{Service: connect.RedisMasters, Servers: []string{server.Addr}}
	target.Renewal = connect.NewRenewal(login("old"), func() { asked++ })
	must.True(t, pingBy(t, target) != nil && asked == 1, "new secrets were asked for", asked, "times")
	must.True(t, target.Renewal.Set(login("new")) && !target.Renewal.Set(login("new")), "Set misreports a change")
	must.Be(t, pingBy(t, target), nil)
	must.Equal(t, asked, 1, "requests for new secrets")
}
