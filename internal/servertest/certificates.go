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
	"strings"
	"testing"
	"time"
)

// Certificates are the PEM files of a test's authority: its own certificate, and one with its key for servers on
// loopback and for clients.
type Certificates struct{ CA, Cert, Key string }

// NewCertificates makes certificates that are valid for an hour.
func NewCertificates(t testing.TB) Certificates {
	t.Helper()
	dir := t.TempDir()
	c := Certificates{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "servertest"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	ca, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	check(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: authority.NotBefore,
		NotAfter:    authority.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), caKey)
	check(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	for file, block := range map[string]*pem.Block{
		c.CA: {Type: "CERTIFICATE", Bytes: ca}, c.Cert: {Type: "CERTIFICATE", Bytes: cert},
		c.Key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		check(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return c
}

// Server returns a configuration for an embedded server.
func (c Certificates) Server(t testing.TB) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	check(t, err)
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// Client returns a configuration for a client that shows the certificate.
func (c Certificates) Client(t testing.TB) *tls.Config {
	t.Helper()
	config, err := c.client()
	check(t, err)
	return config
}

func (c Certificates) client() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}, nil
}

// netty has the jars that a ZooKeeper server needs for TLS, in addition to those that its manifest
// names.
var netty = []string{"netty-codec.jar", "netty-resolver.jar", "netty-transport-native-unix-common.jar"}

// StartZooKeeperTLS is StartZooKeeper with an additional TLS port, at secure. Clients must show a
// certificate of the same authority. Access lists know each client by its certificate, in the
// scheme x509.
func StartZooKeeperTLS(t testing.TB, c Certificates, lines ...string) (z *ZooKeeper, secure string) {
	t.Helper()
	for _, jar := range netty {
		if _, err := os.Stat(filepath.Join(jarDir, jar)); err != nil {
			missing(t, "Netty ("+filepath.Join(jarDir, jar)+")")
		}
	}
	var pair []byte
	for _, file := range []string{c.Key, c.Cert} {
		text, err := os.ReadFile(file)
		check(t, err)
		pair = append(pair, text...)
	}
	store := filepath.Join(t.TempDir(), "pair.pem")
	check(t, os.WriteFile(store, pair, 0o600))
	port, err := freePort()
	check(t, err)
	z = StartZooKeeper(t, append([]string{
		"secureClientPort=" + strconv.Itoa(port), "secureClientPortAddress=127.0.0.1",
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		"authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider",
		"ssl.keyStore.location=" + store, "ssl.keyStore.type=PEM", "ssl.trustStore.location=" + c.CA,
		"ssl.trustStore.type=PEM", "ssl.clientAuth=need",
	}, lines...)...)
	secure = loopback(port)
	check(t, z.proc.awaitReady(func() error { return c.greets(secure) }))
	return z, secure
}

// greets reports why a server does not accept a TLS connection. Java's first handshake is slow.
func (c Certificates) greets(addr string) error {
	config, err := c.client()
	if err != nil {
		return err
	}
	conn, err := tls.Dial("tcp", addr, config)
	if err != nil {
		return err
	}
	return conn.Close()
}

// StartRedisTLS is StartRedis with an additional TLS port, at secure. Clients need no certificate.
func StartRedisTLS(t testing.TB, c Certificates, args ...string) (r *Redis, secure string) {
	t.Helper()
	port, err := freePort()
	check(t, err)
	r = StartRedis(t, append(append(c.redis(port), "--tls-auth-clients", "no"), args...)...)
	return r, loopback(port)
}

// redis returns the options of a port for TLS, whose clients must show a certificate.
func (c Certificates) redis(port int) []string {
	return []string{
		"--tls-port", strconv.Itoa(port), "--tls-cert-file", c.Cert, "--tls-key-file", c.Key,
		"--tls-ca-cert-file", c.CA,
	}
}

// StartRedisClusterTLS is StartRedisCluster with additional ports for TLS, at secure, which the nodes use among
// themselves, too. Clients must show a certificate there.
func StartRedisClusterTLS(t testing.TB, c Certificates, n int) (nodes []*Redis, secure []string) {
	t.Helper()
	nodes, _ = startRedisCluster(t, n, 0, func() []string {
		port, err := freePort()
		check(t, err)
		secure = append(secure, loopback(port))
		return append(c.redis(port), "--tls-cluster", "yes", "--tls-replication", "yes")
	})
	return nodes, secure
}

// StartRedisSentinelTLS is StartRedisSentinel with servers that speak TLS with each other, and with
// clients that show a certificate. secure is the sentinel's TLS address. The sentinel names the
// master by its TLS port. All have a plain port, too.
func StartRedisSentinelTLS(t testing.TB, c Certificates) (sentinel *Redis, secure string, master *Redis) {
	t.Helper()
	port, err := freePort()
	check(t, err)
	at := strconv.Itoa(port)
	secured := func(port int) []string {
		return append(c.redis(port), "--tls-replication", "yes", "--repl-diskless-sync-delay", "0")
	}
	master = StartRedis(t, secured(port)...)
	second, err := freePort()
	check(t, err)
	replica := StartRedis(t, append(secured(second), "--replicaof", "127.0.0.1 "+at)...)
	replica.awaitLink(t)
	third, err := freePort()
	check(t, err)
	var lines []string
	options := append(c.redis(third), "--tls-replication", "yes")
	for i := 0; i < len(options); i += 2 {
		lines = append(lines, strings.TrimPrefix(options[i], "--")+" "+options[i+1])
	}
	sentinel = startSentinel(t, "127.0.0.1", at, 1, lines...)
	sentinel.awaitMaster(t, loopback(port), 1)
	return sentinel, loopback(third), master
}
