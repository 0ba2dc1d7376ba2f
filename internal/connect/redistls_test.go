package connect

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listen serves connections with f until the test ends.
func listen(t *testing.T, f func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return l.Addr().String()
}

// A server without TLS takes the greeting for the beginning of a command and says nothing. It is found out
// long before the limit, even when it misses the first question.
func TestAPortWithoutTLSIsFoundOut(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{"it answers": "+PONG\r\n", "it asks for a password": "-NOAUTH Authentication required.\r\n"} {
		var asked atomic.Bool
		addr := listen(t, func(c net.Conn) {
			for lines := bufio.NewScanner(c); lines.Scan(); {
				if lines.Text() == "PING" && asked.Swap(true) {
					_, _ = c.Write([]byte(reply))
				}
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := tlsDialer(new(net.Dialer).DialContext, &tls.Config{})(ctx, "tcp", addr); err == nil || Reason(err) != "the port speaks no TLS (give redis:// for rediss://, or the server's port for TLS)" {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	mute := listen(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); <-t.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 4*silentFor)
	defer cancel()
	if _, err := tlsDialer(new(net.Dialer).DialContext, &tls.Config{})(ctx, "tcp", mute); err == nil || errors.As(err, new(*RefusedError)) {
		t.Errorf("a server that says nothing at all: %v", err)
	}
}

// TestTLSWithACertificateBelowHome: ~ is the user's home directory, as in a shell.
func TestTLSWithACertificateBelowHome(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that end after the handshake
	server.StartTLS()
	defer server.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(home, "ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := (&TLS{CA: "~/ca.pem"}).Config()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tlsDialer(new(net.Dialer).DialContext, config)(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if _, err := (&TLS{CA: "~/none.pem"}).Config(); err == nil || !strings.Contains(err.Error(), home) {
		t.Errorf("%v does not name the file", err)
	}
}
