package connect

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// HomePath replaces a ~ at the beginning of a path with the user's home directory, as a shell does.
func HomePath(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, rest), nil
}

// set is false for a key that is no option of TLS.
func (t *TLS) set(key, value string) bool {
	switch key {
	case "ca":
		t.CA = value
	case "cert":
		t.Cert = value
	case "key":
		t.Key = value
	case "server_name":
		t.ServerName = value
	default:
		return false
	}
	return true
}

// Config reads the files and makes a client configuration, TLS 1.2 or newer, the server always verified. nil stays
// nil: no TLS.
func (t *TLS) Config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	paths := [...]string{t.CA, t.Cert, t.Key}
	for i := range paths {
		var err error
		if paths[i], err = HomePath(paths[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTarget, err)
		}
	}
	ca, cert, key := paths[0], paths[1], paths[2]
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%w: ca: %w", ErrTarget, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: ca: %s holds no PEM certificate", ErrTarget, ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, fmt.Errorf("%w: cert and key must be given together", ErrTarget)
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%w: cert and key: %w", ErrTarget, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
