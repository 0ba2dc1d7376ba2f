package lockops_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/lockops"
)

// farWay is a slow link to a server, with the time for connecting and for a round trip.
type farWay struct{ connect, trip time.Duration }

func (w farWay) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case <-time.After(w.connect):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// Every kind works over slow links, and survives a lost connection, if the session timeout is long
// enough for the link.
func TestLocksWorkOverDistantLinks(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{TickTime: 100 * ms, MaxSessionTimeout: time.Minute})
	for _, tt := range []struct {
		way     farWay
		timeout time.Duration
		tls     bool
	}{
		{farWay{50 * ms, 20 * ms}, 10 * time.Second, false},
		{farWay{150 * ms, 150 * ms}, 30 * time.Second, true},
		{farWay{600 * ms, 300 * ms}, 12 * time.Second, false},
		{farWay{900 * ms, 300 * ms}, 30 * time.Second, true}, // longer than go-zookeeper would wait
	} {
		t.Run(fmt.Sprint(tt.way.connect, tt.way.trip, tt.timeout, tt.tls), func(t *testing.T) {
			t.Parallel()
			wire := servertest.StartWire(t, server.Addr)
			wire.Delay(tt.way.trip / 2)
			p := startProxy(t, wire.Addr())
			addr, options := p.addr(), []lockops.ZKOption{lockops.WithSessionTimeout(tt.timeout), lockops.WithDialContext(tt.way.dial)}
			if tt.tls {
				var config *tls.Config
				addr, config = overTLS(t, addr)
				options = append(options, lockops.WithTLS(config))
			}
			s := zkSession(t, addr, options...)
			path := servertest.UniquePath(t)
			var all sync.WaitGroup
			for i, l := range []lockops.Locker{
				lockops.NewZKMutex(s, path+"-mutex"), lockops.NewZKMutex(s, path+"-sequential", lockops.WithRecipe("sequential")),
				reader(s, path+"-read"), writer(s, path+"-write"), lockops.NewZKSemaphore(s, path+"-semaphore", 1),
			} {
				all.Go(func() { farCycle(t, i, l, p) })
			}
			all.Wait()
		})
	}
}

func farCycle(t *testing.T, i int, l lockops.Locker, p *proxy) {
	h, err := l.Acquire(within(t))
	if err != nil {
		t.Errorf("%v: Acquire: %v", l, err)
		return
	}
	if _, err := l.TryAcquire(within(t)); err != nil && !errors.Is(err, lockops.ErrHeld) {
		t.Errorf("%v: TryAcquire while held: %v", l, err)
	}
	if i == 0 { // all share the connection
		p.cut()
	}
	must.Be(t, h.Extend(within(t)), nil, l, "extend")
	must.Be(t, h.Release(within(t)), nil, l, "release")
	free := within(t)
	h, err = l.TryAcquire(free)
	for errors.Is(err, lockops.ErrHeld) && free.Err() == nil { // the node of the previous try may still be there
		h, err = l.TryAcquire(free)
	}
	if err != nil {
		t.Errorf("%v: TryAcquire after the release: %v", l, err)
		return
	}
	must.Be(t, h.Release(within(t)), nil, l)
}

// overTLS starts a TLS proxy for a server, and returns its address and the configuration of its
// clients.
func overTLS(t *testing.T, addr string) (string, *tls.Config) {
	t.Helper()
	certificates := servertest.NewCertificates(t)
	l := must.Have(tls.Listen("tcp", "127.0.0.1:0", certificates.Server(t)))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				to.Close()
				from.Close()
			}
			go pass(client, server)
			go pass(server, client)
		}
	}()
	return l.Addr().String(), certificates.Client(t)
}

// The error names a session timeout that would suffice.
func TestTooSlowLinkFailsAtOnce(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{TickTime: 100 * time.Millisecond, MaxSessionTimeout: time.Minute})
	wire := servertest.StartWire(t, server.Addr)
	wire.Delay(200 * time.Millisecond)
	_, err := lockops.NewZKSession(within(t), []string{wire.Addr()}, lockops.WithSessionTimeout(time.Second))
	advice := regexp.MustCompile(`session timeout of ([4-9]|\d\d)[.\d]*s would do`) // more on a slow machine
	if !errors.Is(err, lockops.ErrTooShort) || !advice.MatchString(err.Error()) {
		t.Errorf("%v, want an error that says which timeout would do", err)
	}
}
