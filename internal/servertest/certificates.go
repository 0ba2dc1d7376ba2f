package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Certificates are those of an authority of one test, in PEM files: its own, and one with its key for servers on loopback and for
// clients alike.
type Certificates struct{ CA, Cert, Key string }

// NewCertificates makes them for an hour.
func NewCertificates(t testing.TB) Certificates {
	t.Helper()
	dir := t.TempDir()
	c := Certificates{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "servertest"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	check(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), caKey)
	check(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	for file, block := range map[string]*pem.Block{
		c.CA: {Type: "CERTIFICATE", Bytes: ca}, c.Cert: {Type: "CERTIFICATE", Bytes: cert}, c.Key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		check(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return c
}

// Server is a configuration for an embedded server.
func (c Certificates) Server(t testing.TB) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	check(t, err)
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// StartRedisTLS is StartRedis with a port for TLS besides, at secure. Clients need no certificate.
func StartRedisTLS(t testing.TB, c Certificates, args ...string) (r *Redis, secure string) {
	t.Helper()
	port, err := freePort()
	check(t, err)
	r = StartRedis(t, append([]string{
		"--tls-port", strconv.Itoa(port), "--tls-cert-file", c.Cert, "--tls-key-file", c.Key, "--tls-ca-cert-file", c.CA, "--tls-auth-clients", "no",
	}, args...)...)
	return r, loopback(port)
}
