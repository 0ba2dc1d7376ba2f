package connect

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Config reads the files and makes a client configuration, TLS 1.2 or newer, the server always verified. nil stays
// nil: no TLS.
func (t *TLS) Config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("%w: ca: %w", ErrTarget, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: ca: %s holds no PEM certificate", ErrTarget, t.CA)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, fmt.Errorf("%w: cert and key must be given together", ErrTarget)
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("%w: cert and key: %w", ErrTarget, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
