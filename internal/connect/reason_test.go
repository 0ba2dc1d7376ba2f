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
	for _, err := range []error{
		&RefusedError{Why: "needs TLS"},
		tls.RecordHeaderError{},
		&tls.CertificateVerificationError{Err: io.EOF},
		&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, &net.DNSError{IsTimeout: true},
	} {
		if !Ours(fmt.Errorf("master a: %w", err)) {
			t.Errorf("%T is not recognized as ours", err)
		}
	}
	for _, err := range []error{refused, io.EOF, context.DeadlineExceeded, &net.DNSError{IsNotFound: true}} {
		if Ours(err) {
			t.Errorf("%v is mistaken for ours", err)
		}
	}
	if Plain(nil) != nil || !errors.Is(Plain(refused), refused) || Unreachable(errors.New("x")) {
		t.Error("the cause is lost")
	}
}
