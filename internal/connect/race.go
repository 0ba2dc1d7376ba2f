package connect

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	// nextAddress is the pause before the next address of a name is tried alongside the earlier
	// ones (RFC 8305, 5).
	nextAddress = 250 * time.Millisecond
	// mostAddresses of a name are tried.
	mostAddresses = 16
)

// Names dials servers by name. A net.Dialer gives the first address of a family its share of the
// time, at least 2 s, before it tries the second. A name with a dead address then fails within a
// short limit. Names tries each further address a moment after the previous one, in parallel, and
// uses the first connection.
type Names struct {
	// Lookup returns the addresses of a host; nil uses the system's resolver.
	Lookup func(ctx context.Context, host string) ([]net.IPAddr, error)
	// Dial connects to an address; nil uses a net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// DialContext connects to host:port by the first of the host's addresses that answers. It returns
// the error of the lookup, or of the address that was tried first.
func (n Names) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	dial, lookup := n.Dial, n.Lookup
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	if lookup == nil {
		lookup = net.DefaultResolver.LookupIPAddr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || net.ParseIP(host) != nil {
		return dial(ctx, network, addr)
	}
	found, err := lookup(ctx, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	addrs := make([]string, 0, len(found))
	for _, ip := range found[:min(len(found), mostAddresses)] {
		addrs = append(addrs, net.JoinHostPort(ip.String(), port))
	}
	switch len(addrs) {
	case 0:
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no address", Name: host, IsNotFound: true}}
	case 1:
		return dial(ctx, network, addrs[0])
	}
	return race(ctx, addrs, func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, network, addr) })
}

// race dials all addresses, one after the other, and does not wait for one to fail before it tries the next.
func race(ctx context.Context, addrs []string, dial func(ctx context.Context, addr string) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	started, ended := 0, 0
	next := func() {
		addr := addrs[started]
		started++
		go func() {
			conn, err := dial(ctx, addr)
			results <- result{conn, err}
		}()
	}
	defer func() { // those that are beaten end with ctx
		go func(left int) {
			for range left {
				if r := <-results; r.conn != nil {
					r.conn.Close()
				}
			}
		}(started - ended)
	}()
	next()
	pause := time.NewTimer(nextAddress)
	defer pause.Stop()
	var first error
	for {
		select {
		case <-pause.C:
		case r := <-results:
			ended++
			if r.err == nil {
				return r.conn, nil
			}
			if first == nil || timedOut(first) {
				first = r.err
			}
			if ended == len(addrs) {
				return nil, first
			}
			if started > ended { // others are under way
				continue
			}
		}
		if started < len(addrs) {
			next()
			pause.Reset(nextAddress)
		}
	}
}

func timedOut(err error) bool {
	var failed net.Error
	return errors.As(err, &failed) && failed.Timeout()
}
