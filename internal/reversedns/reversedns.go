// Package reversedns asks the resolver what addresses are called, without ever keeping anybody waiting for it.
package reversedns

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// limit of one request: resolvers try each of their servers for 5 s.
	limit = 2 * time.Second
	// atOnce limits the requests under way: a resolver serves others, too.
	atOnce = 4
	// An answer is good for goodFor, a failure for badFor.
	goodFor, badFor = 10 * time.Minute, time.Minute
	// most addresses that are kept.
	most = 4096
)

// Names are the names of addresses, as far as the resolver has said them.
type Names struct {
	lookup func(ctx context.Context, addr string) ([]string, error)
	now    func() time.Time
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	known   map[netip.Addr]answer
	waiting []netip.Addr
	asking  int
	idle    chan struct{} // closed while nothing is asked for
	closed  bool
}

type answer struct {
	name, unknown string
	until         time.Time // zero: it is asked for
}

// New makes names of what lookup says, usually net.DefaultResolver.LookupAddr; now is the clock. Close ends it.
func New(lookup func(ctx context.Context, addr string) ([]string, error), now func() time.Time) *Names {
	idle := make(chan struct{})
	close(idle)
	ctx, cancel := context.WithCancel(context.Background())
	return &Names{lookup: lookup, now: now, ctx: ctx, cancel: cancel, known: make(map[netip.Addr]answer), idle: idle}
}

// HostName is the name of an address; both are empty where it has none. While that is not known it is asked for, and unknown gives
// the reason. It does not wait.
func (n *Names) HostName(addr netip.Addr) (name, unknown string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.known[addr]
	if ok && (a.until.IsZero() || n.now().Before(a.until)) || n.closed {
		return a.name, a.unknown
	}
	if !ok {
		a.unknown = "not answered yet"
		if len(n.known) >= most && !n.forget() {
			return "", "too many addresses are asked for"
		}
	}
	a.until = time.Time{} // what was known before stands until there is an answer
	n.known[addr] = a
	n.waiting = append(n.waiting, addr)
	if n.asking < atOnce {
		if n.asking++; n.asking == 1 {
			n.idle = make(chan struct{})
		}
		go n.work()
	}
	return a.name, a.unknown
}

// forget makes room by what is no longer good.
func (n *Names) forget() bool {
	for addr, a := range n.known {
		if !a.until.IsZero() && !n.now().Before(a.until) {
			delete(n.known, addr)
		}
	}
	return len(n.known) < most
}

// work asks for one address after the other until none waits.
func (n *Names) work() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.waiting) > 0 && !n.closed {
		addr := n.waiting[0]
		n.waiting = n.waiting[1:]
		n.mu.Unlock()
		a := n.query(addr)
		n.mu.Lock()
		n.known[addr] = a
	}
	if n.asking--; n.asking == 0 {
		close(n.idle)
	}
}

func (n *Names) query(addr netip.Addr) answer {
	ctx, cancel := context.WithTimeout(n.ctx, limit)
	defer cancel()
	names, err := n.lookup(ctx, addr.String())
	var failed *net.DNSError
	switch {
	case err == nil, errors.As(err, &failed) && failed.IsNotFound:
		// Of several names the shortest is mostly the one that people use; the order in which they come changes.
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
		a := answer{until: n.now().Add(goodFor)}
		if len(names) > 0 {
			a.name = strings.TrimSuffix(names[0], ".")
		}
		return a
	case ctx.Err() != nil || errors.As(err, &failed) && failed.IsTimeout:
		return answer{unknown: "the resolver did not answer in " + limit.String(), until: n.now().Add(badFor)}
	}
	return answer{unknown: "the resolver: " + err.Error(), until: n.now().Add(badFor)}
}

// Wait returns when all that was asked for is answered, or when ctx ends.
func (n *Names) Wait(ctx context.Context) {
	n.mu.Lock()
	idle := n.idle
	n.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// Close ends what is asked for, and waits until lookup returned.
func (n *Names) Close() {
	n.mu.Lock()
	n.closed = true
	idle := n.idle
	n.mu.Unlock()
	n.cancel()
	<-idle
}
