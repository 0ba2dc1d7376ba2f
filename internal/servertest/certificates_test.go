package servertest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"os"
	"testing"
)

// The port for TLS takes who shows a certificate, and nobody else.
func TestAZooKeeperWithTLSWantsACertificate(t *testing.T) {
	t.Parallel()
	c := NewCertificates(t)
	_, secure := StartZooKeeperTLS(t, c)
	roots := x509.NewCertPool()
	text, err := os.ReadFile(c.CA)
	check(t, err)
	roots.AppendCertsFromPEM(text)
	for with, config := range map[bool]*tls.Config{true: c.Server(t), false: {}} {
		config.RootCAs, config.ServerName = roots, "localhost"
		conn, err := tls.Dial("tcp", secure, config)
		if err == nil {
			if _, err = conn.Write([]byte("ruok")); err == nil {
				_, err = io.ReadFull(conn, make([]byte, 4)) // the answer may come together with the end
			}
			conn.Close()
		}
		if (err == nil) != with {
			t.Errorf("with a certificate: %v: %v", with, err)
		}
	}
}
