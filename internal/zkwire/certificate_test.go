package zkwire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A certificate only authenticates the client to a server that asks for it.
func TestCertificateCountsOnlyWhenRequested(t *testing.T) {
	t.Parallel()
	c := servertest.NewCertificates(t)
	config := must.Have((&connect.TLS{CA: c.CA, Cert: c.Cert, Key: c.Key, ServerName: "localhost"}).Config())(t)
	for name, tt := range map[string]struct {
		asks tls.ClientAuthType
		want bool
	}{"asks for none": {tls.NoClientCert, false}, "asks for one": {tls.RequestClientCert, true}, "demands one": {tls.RequireAnyClientCert, true}} {
		t.Run(name, func(t *testing.T) {
			server := c.Server(t)
			server.ClientAuth = tt.asks
			l := must.Have(tls.Listen("tcp", "127.0.0.1:0", server))(t)
			defer l.Close()
			seen := make(chan int, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				must.Be(t, conn.(*tls.Conn).HandshakeContext(context.Background()), nil)
				seen <- len(conn.(*tls.Conn).ConnectionState().PeerCertificates)
			}()
			tap := &Tap{TLS: config}
			conn := must.Have(tap.secure(t.Context(), "tcp", l.Addr().String()))(t)
			defer conn.Close()
			if n := <-seen; (n > 0) != tt.want || tap.Authenticated() != tt.want {
				t.Errorf("the server has %d certificates, authenticated: %v", n, tap.Authenticated())
			}
		})
	}
	if got := connect.WithShown(&tls.Config{MinVersion: tls.VersionTLS12}, nil); got.GetClientCertificate != nil {
		t.Error("WithShown offers a certificate although there is none")
	}
}

// If a TLS server and client do not trust each other, the error says whose certificate is wrong, and
// which option to use.
func TestTLSErrorNamesOption(t *testing.T) {
	t.Parallel()
	certs, others := servertest.NewCertificates(t), servertest.NewCertificates(t)
	config := certs.Server(t)
	config.MaxVersion = tls.VersionTLS12 // the server refuses the client within the handshake
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	listener := must.Have(tls.Listen("tcp", "127.0.0.1:0", config))(t)
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	for want, given := range map[string]*connect.TLS{"cert= and key=": {CA: certs.CA, Cert: others.Cert, Key: others.Key}, "ca=": {CA: others.CA}} {
		config := must.Have(given.Config())(t)
		tap := &Tap{TLS: config}
		if _, err := tap.Dial("tcp", listener.Addr().String(), 30*time.Second); err == nil || !strings.Contains(connect.Reason(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
