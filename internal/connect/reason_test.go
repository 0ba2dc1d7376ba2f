package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestReason(t *testing.T) {
	t.Parallel()
	dial := func(addr string) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			conn.Close()
			t.Fatal("a server listens on port 1")
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
		must.Equal(t, Reason(err), want, err)
		must.Equal(t, Plain(err).Error(), want, "plain")
	}
	err := &DialError{"z:1", refused}
	must.Equal(t, err.Error(), "zookeeper z:1: connection refused")
	must.True(t, Reason(fmt.Errorf("x: %w", err)) == "connection refused" && Unreachable(err), err)
	for _, err := range []error{
		&RefusedError{Why: "needs TLS"},
		tls.RecordHeaderError{},
		&tls.CertificateVerificationError{Err: io.EOF},
		&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, &net.DNSError{IsTimeout: true},
	} {
		must.True(t, Ours(fmt.Errorf("master a: %w", err)), err, "is not recognized as ours")
	}
	for _, err := range []error{refused, io.EOF, context.DeadlineExceeded, &net.DNSError{IsNotFound: true}} {
		must.True(t, !Ours(err), err, "is mistaken for ours")
	}
	must.Be(t, Plain(nil), nil)
	must.Be(t, Plain(refused), refused, "the cause")
	must.True(t, !Unreachable(errors.New("x")), "any error is unreachable")
}
