package connect_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
)

// twoAddresses has a name that stands for a dead address and, behind it, the one of this host.
func twoAddresses(context.Context, string) ([]net.IPAddr, error) {
	return []net.IPAddr{{IP: net.IPv4(192, 0, 2, 1)}, {IP: net.IPv4(127, 0, 0, 1)}}, nil
}

// deadAddress dials, and has no answer of the address for documentation before its caller gives up.
func deadAddress(ctx context.Context, network, addr string) (net.Conn, error) {
	if strings.HasPrefix(addr, "192.0.2.") {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// A name with a dead address is reached by its other one, within a limit that is too short to wait for the dead one.
func TestANameWithADeadAddressIsReached(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // the dead one would take it all
	defer cancel()
	c, err := connect.Names{Lookup: twoAddresses, Dial: deadAddress}.DialContext(ctx, "tcp", "zk.example:"+port)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c.RemoteAddr().String() != l.Addr().String() {
		t.Errorf("connected to %v", c.RemoteAddr())
	}
}

// Where no address answers, the error says what the one said that answered at all; and addresses, sockets and
// names that are not known are dialled as ever.
func TestNamesThatCannotBeReached(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := connect.Names{Lookup: twoAddresses, Dial: deadAddress}.DialContext(ctx, "tcp", "zk.example:1")
	if err == nil || connect.Reason(err) != "connection refused" {
		t.Errorf("%v", err)
	}
	unknown := connect.Names{Lookup: func(_ context.Context, host string) ([]net.IPAddr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}}
	if _, err = unknown.DialContext(t.Context(), "tcp", "zk.example:1"); !strings.Contains(connect.Reason(err), "no such host") {
		t.Errorf("%v", err)
	}
	asked := errors.New("asked for")
	direct := connect.Names{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		if addr == "127.0.0.1:5" {
			return nil, asked
		}
		return nil, errors.New(addr)
	}}
	if _, err = direct.DialContext(t.Context(), "tcp", "127.0.0.1:5"); !errors.Is(err, asked) {
		t.Errorf("%v", err)
	}
}
