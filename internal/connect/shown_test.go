package connect

import (
	"context"
	"crypto/tls"
	"testing"

	"lockscope/internal/servertest"
)

// By a certificate this client is somebody only for a server that asks for it.
func TestACertificateCountsWhereTheServerAsksForIt(t *testing.T) {
	t.Parallel()
	c := servertest.NewCertificates(t)
	config, err := (&TLS{CA: c.CA, Cert: c.Cert, Key: c.Key, ServerName: "localhost"}).Config()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		asks tls.ClientAuthType
		want bool
	}{"asks for none": {tls.NoClientCert, false}, "asks for one": {tls.RequestClientCert, true}, "demands one": {tls.RequireAnyClientCert, true}} {
		t.Run(name, func(t *testing.T) {
			server := c.Server(t)
			server.ClientAuth = tt.asks
			l, err := tls.Listen("tcp", "127.0.0.1:0", server)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			seen := make(chan int, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				if err := conn.(*tls.Conn).HandshakeContext(context.Background()); err != nil {
					t.Error(err)
				}
				seen <- len(conn.(*tls.Conn).ConnectionState().PeerCertificates)
			}()
			tap := &Tap{TLS: config}
			conn, err := tap.secure(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if n := <-seen; (n > 0) != tt.want || tap.Authenticated() != tt.want {
				t.Errorf("the server has %d certificates, we are somebody: %v", n, tap.Authenticated())
			}
		})
	}
	if got := SubjectOf(&config.Certificates[0]); got != "CN=localhost" {
		t.Errorf("subject %q", got)
	}
	if got := WithShown(&tls.Config{MinVersion: tls.VersionTLS12}, nil); got.GetClientCertificate != nil {
		t.Error("without a certificate there is nothing to show")
	}
}
