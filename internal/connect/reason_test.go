package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"lockscope/internal/servertest"
)

// A TLS server and a client that do not trust each other say whose certificate is at fault, and which option
// is about it.
func TestReasonOfTLS(t *testing.T) {
	t.Parallel()
	certs, others := servertest.NewCertificates(t), servertest.NewCertificates(t)
	config := certs.Server(t)
	config.MaxVersion = tls.VersionTLS12 // refuses the client within the handshake
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	for want, given := range map[string]*TLS{"cert= and key=": {CA: certs.CA, Cert: others.Cert, Key: others.Key}, "ca=": {CA: others.CA}} {
		config, err := given.Config()
		if err != nil {
			t.Fatal(err)
		}
		tap := &Tap{TLS: config}
		if _, err := tap.Dial("tcp", listener.Addr().String(), 30*time.Second); err == nil || !strings.Contains(Reason(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	dial := func(addr string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			conn.Close()
			t.Fatal("somebody listens on port 1")
		}
		return err
	}
	refused := dial("127.0.0.1:1")
	for want, err := range map[string]error{
		"connection refused":    refused,
		"there is no such host": &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h", Server: "10.0.0.1:53", IsNotFound: true}},
		"no answer in time":     fmt.Errorf("pool: %w", context.DeadlineExceeded),
		"connection lost":       io.EOF,
		"NOAUTH needed":         errors.New("NOAUTH needed"),
	} {
		if got := Reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
		if err := Plain(err); err.Error() != want {
			t.Errorf("plain: %q, want %q", err, want)
		}
	}
	if err := (&DialError{"z:1", refused}); err.Error() != "zookeeper z:1: connection refused" || Reason(fmt.Errorf("x: %w", err)) != "connection refused" || !Unreachable(err) {
		t.Errorf("%q, %q", err, Reason(err))
	}
	if Plain(nil) != nil || !errors.Is(Plain(refused), refused) || Unreachable(errors.New("x")) {
		t.Error("errors are not kept")
	}
}
