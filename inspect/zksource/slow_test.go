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
	"github.com/lockscope/lockscope/internal/zkserver"
)

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// impatient is a Dial that fails if the caller's deadline leaves less than that time.
func impatient(needs time.Duration) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if limit, limited := ctx.Deadline(); limited && time.Until(limit) < needs {
			return nil, context.DeadlineExceeded
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// tunnel is a Dial that connects at once, to a tunnel that reaches the server later.
func tunnel(needs time.Duration) dialFunc {
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
func late(needs time.Duration) dialFunc {
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

func TestASlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		dial    dialFunc
		timeout time.Duration
		more    []string // servers
	}{
		// A distant server, a jump host or a TLS handshake may need more than go-zookeeper's limit of 1 s.
		"a distant server": {impatient(3 * time.Second), 0, []string{"127.0.0.1:1"}},
		// A tunnel accepts at once but reaches the server later. That counts as connecting, not as a silent server.
		"behind a tunnel": {tunnel(4 * time.Second), 20 * time.Second, nil},
		// The first attempt must last long enough for a server that answers after 8 of 13 seconds.
		"a short timeout": {late(8 * time.Second), 13 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := embedded(t, zkserver.Config{})
			s.queue("/lock", "a")
			s.cfg.Servers, s.cfg.Dial, s.cfg.Timeout = append(s.cfg.Servers, tt.more...), tt.dial, tt.timeout
			v := s.once()
			if v.Backend == nil || v.Backend.State == inspect.Down || v.Locks["/lock"] == nil {
				t.Fatalf("%+v", v.Backend)
			}
			if name == "behind a tunnel" && (v.Backend.State != inspect.Connected || v.Backend.Unseen != nil) {
				t.Errorf("%s, unseen although the server answered slowly: %+v", v.Backend.State, v.Backend.Unseen)
			}
		})
	}
}

// A one-shot read of a silent server ends at its timeout, despite repeated inquiries.
func TestSilentServerIsDownAfterTimeout(t *testing.T) {
	t.Parallel()
	b := sourcetest.Once(t, zksource.NewHasty(zksource.Config{
		Backend: "zk", Once: true, Servers: []string{"192.0.2.1:2181"}, Dial: impatient(time.Hour), Timeout: 2 * time.Second,
	})).Backend
	if b == nil || b.State != inspect.Down || !strings.Contains(b.Error, "no answer in time") {
		t.Errorf("%+v", b)
	}
}
