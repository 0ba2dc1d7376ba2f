package connect

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// listen serves connections with f until the test ends.
func listen(t *testing.T, f func(net.Conn)) (addr string) {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
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

// A Redis without TLS may take the greeting for a partial command and stay silent, or reply with an
// error.
func TestReportsPlaintextPort(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{"": silentTLS, "-ERR unknown command\r\n": noTLS} {
		addr := listen(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, reply)
			<-t.Context().Done()
		})
		within := time.Minute
		if reply == "" {
			within = 50 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		dial := func(_ context.Context, network, addr string) (net.Conn, error) { return net.Dial(network, addr) }
		_, err := tlsDialer(dial, &tls.Config{}, nil)(ctx, "tcp", addr)
		cancel()
		if err == nil {
			t.Fatal(reply, "was accepted")
		}
		must.Equal(t, Reason(err), want, reply)
		must.Equal(t, TimedOut(err), reply == "", reply, "timed out")
	}
}

// ~ in a path is the user's home directory, as in a shell.
func TestCertificatePathExpandsTilde(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // about connections that end after the handshake
	server.StartTLS()
	defer server.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must.Succeed(t, os.WriteFile(filepath.Join(home, "ca.pem"), ca, 0o600))
	config := must.Have((&TLS{CA: "~/ca.pem"}).Config())(t)
	dial := tlsDialer(new(net.Dialer).DialContext, config, nil)
	conn := must.Have(dial(t.Context(), "tcp", server.Listener.Addr().String()))(t)
	conn.Close()
	_, err := (&TLS{CA: "~/none.pem"}).Config()
	must.Contain(t, fmt.Sprint(err), home, "the file is not named")
}
