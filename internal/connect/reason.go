package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// DialError is the error of a connection to a server.
type DialError struct {
	Addr string
	Err  error
}

func (e *DialError) Error() string { return "zookeeper " + e.Addr + ": " + Reason(e.Err) }

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }

// Plain returns a connection's error without its outer layers, such as a repeated address. Its text
// is what Reason returns.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	return plain{err}
}

type plain struct{ err error }

func (p plain) Error() string { return Reason(p.err) }
func (p plain) Unwrap() error { return p.err }

// Reason says in a few words why a server could not be reached. For other errors it returns their
// text.
func Reason(err error) string {
	if dial, ok := errors.AsType[*DialError](err); ok {
		err = dial.Err
	}
	var lookup *net.DNSError
	var op *net.OpError
	var number syscall.Errno
	var refused *RefusedError
	var hinted *unexplained
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, new(severally)): // each has its own reason
		return err.Error()
	case errors.As(err, &refused):
		return refused.Why
	case errors.As(err, &hinted):
		return hinted.hint
	case errors.As(err, &untrusted):
		return err.Error() +
			" (set ca= to the authority of the server's certificate, and server_name= to a name in it)"
	// a TLS alert
	case errors.As(err, &op) && op.Op == "remote error" && strings.Contains(op.Error(), "certificate"):
		return err.Error() + " (the server demands a client certificate that it trusts: use cert= and key=)"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "there is no such host"
	case errors.As(err, &lookup):
		return "the host's name could not be looked up: " + lookup.Err
	case errors.As(err, &op) && errors.As(err, &number):
		return number.Error()
	case TimedOut(err):
		return "no answer in time"
	case errors.Is(err, io.EOF):
		return "connection lost"
	default:
		return err.Error()
	}
}

// NotDialled reports whether an error proves that there was no connection.
func NotDialled(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// TimedOut reports whether a server did not answer in time. It may be slow; any other error is an
// answer.
func TimedOut(err error) bool {
	var op *net.OpError
	return !errors.As(err, new(*RefusedError)) &&
		(errors.As(err, &op) && op.Timeout() || errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, os.ErrDeadlineExceeded))
}

// Ours reports whether a connection failed for a reason that may affect only us, such as a refusal
// by the server or a proxy, or a failing name lookup. The server may still serve other clients.
func Ours(err error) bool {
	var op *net.OpError
	var lookup *net.DNSError
	switch {
	case errors.As(err, new(*RefusedError)), errors.As(err, new(*tls.CertificateVerificationError)),
		errors.As(err, new(tls.RecordHeaderError)):
		return true
	case errors.As(err, &lookup): // some networks remove the name of a server that is down
		return !lookup.IsNotFound
	}
	return errors.As(err, &op) && op.Op == "remote error" // a TLS alert
}

// Unreachable reports whether an error is about a server that could not be reached or did not answer.
func Unreachable(err error) bool {
	return errors.As(err, new(*RefusedError)) || errors.As(err, new(*DialError)) || errors.As(err, new(*net.OpError)) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF)
}
