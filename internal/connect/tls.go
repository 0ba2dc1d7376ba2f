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

func (t *TLS) set(option, value string) {
	switch option {
	case "ca":
		t.CA = value
	case "cert":
		t.Cert = value
	case "key":
		t.Key = value
	case "server_name":
		t.ServerName = value
	}
}

// Config reads the files and returns a client configuration with TLS 1.2 or newer that always
// verifies the server. A nil TLS returns nil: no TLS.
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
			return nil, fmt.Errorf("%w: ca: %s contains no PEM certificate", ErrTarget, ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, fmt.Errorf("%w: cert and key belong together (set both or neither)", ErrTarget)
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

// WithShown returns a configuration that calls shown with each of our certificates that a server
// receives, before the handshake ends. A client certificate identifies this client only to a server
// that requests one.
func WithShown(config *tls.Config, shown func(*tls.Certificate)) *tls.Config {
	if len(config.Certificates) == 0 {
		return config
	}
	config = config.Clone()
	choose := config.GetClientCertificate
	if choose == nil {
		choose = chooseOf(config.Certificates)
	}
	config.GetClientCertificate = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c, err := choose(asked)
		if err == nil && len(c.Certificate) > 0 {
			shown(c)
		}
		return c, err
	}
	return config
}

// chooseOf picks the first certificate that the server accepts, as crypto/tls does. If the server
// accepts none, none is sent.
func chooseOf(ours []tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for i := range ours {
			if asked.SupportsCertificate(&ours[i]) == nil {
				return &ours[i], nil
			}
		}
		return new(tls.Certificate), nil
	}
}
