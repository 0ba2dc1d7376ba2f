package zksource_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// slowDial is a Dial that fails if the caller's deadline leaves less than that time.
func slowDial(needs time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if limit, limited := ctx.Deadline(); limited && time.Until(limit) < needs {
			return nil, context.DeadlineExceeded
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// A distant server, a jump host or a TLS handshake may need more than go-zookeeper's limit of 1 s.
func TestASlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	create(t, client(t, zks), "/lock", "", 0)
	v := once(t, zksource.Config{Servers: []string{zks.Addr, "127.0.0.1:1"}, Dial: slowDial(3 * time.Second)})
	if v.Backend == nil || v.Backend.State == inspect.Down {
		t.Errorf("%+v", v.Backend)
	}
}

// A one-shot read of a silent server ends at its timeout, despite repeated inquiries.
func TestSilentServerIsDownAfterTimeout(t *testing.T) {
	t.Parallel()
	s := zksource.NewHasty(zksource.Config{
		Backend: "zk", Once: true, Servers: []string{"192.0.2.1:2181"}, Dial: slowDial(time.Hour), Timeout: 2 * time.Second,
	})
	v := sourcetest.Once(t, s)
	if v.Backend == nil || v.Backend.State != inspect.Down || !strings.Contains(v.Backend.Error, "no answer in time") {
		t.Errorf("%+v", v.Backend)
	}
}

// A tunnel accepts at once but reaches the server later. That counts as connecting, not as a silent
// server.
func TestSlowTunnelledServerIsAwaited(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	create(t, c, "/lock/"+guid+"__lock__", "a", contender)
	v := once(t, zksource.Config{Servers: []string{zks.Addr}, Dial: tunnel(4 * time.Second), Timeout: 20 * time.Second})
	if v.Backend == nil || v.Backend.State != inspect.Connected || v.Locks["/lock"] == nil {
		t.Fatalf("%+v", v.Backend)
	}
	for _, u := range v.Backend.Unseen {
		t.Errorf("unseen although the server answered slowly: %+v", u)
	}
}

// tunnel is a Dial that connects at once, to a tunnel that reaches the server later.
func tunnel(needs time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, network, addr string) (net.Conn, error) {
		ours, its := net.Pipe()
		time.AfterFunc(needs, func() {
			defer its.Close()
			c, err := net.Dial(network, addr)
			if err != nil {
				return
			}
			defer c.Close()
			go func() {
				_, _ = io.Copy(c, its)
				c.Close()
			}()
			_, _ = io.Copy(its, c)
		})
		return ours, nil
	}
}

// late is a Dial that takes that long, unless its context ends first.
func late(needs time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		timer := time.NewTimer(needs)
		defer timer.Stop()
		select {
		case <-timer.C:
			return new(net.Dialer).DialContext(ctx, network, addr)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// The first attempt must last long enough for a server that answers after 8 of 13 seconds.
func TestShortTimeoutAwaitsSlowServer(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	create(t, c, "/lock/"+guid+"__lock__", "a", contender)
	v := once(t, zksource.Config{Servers: []string{zks.Addr}, Dial: late(8 * time.Second), Timeout: 13 * time.Second})
	if v.Backend == nil || v.Backend.State == inspect.Down || v.Locks["/lock"] == nil {
		t.Errorf("%+v", v.Backend)
	}
}
