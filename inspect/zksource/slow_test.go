package zksource_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
	"lockscope/internal/zkserver"
)

// slowDial is a Dial to a server that answers nobody who waits for less than its time.
func slowDial(needs time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if limit, limited := ctx.Deadline(); limited && time.Until(limit) < needs {
			return nil, context.DeadlineExceeded
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// A server far away, behind a jump host or busy with the handshakes of TLS may need more than the second that go-zookeeper waits.
func TestASlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	create(t, client(t, zks), "/lock", "", 0)
	v := once(t, zksource.Config{Servers: []string{zks.Addr, "127.0.0.1:1"}, Dial: slowDial(3 * time.Second)})
	if v.Backend == nil || v.Backend.State == inspect.Down {
		t.Errorf("%+v", v.Backend)
	}
}

// One look at a server that never answers ends, however often it is asked about itself meanwhile.
func TestAServerThatNeverAnswersIsDownAfterTheTimeout(t *testing.T) {
	t.Parallel()
	s := zksource.NewHasty(zksource.Config{
		Backend: "zk", Once: true, Servers: []string{"192.0.2.1:2181"}, Dial: slowDial(time.Hour), Timeout: 2 * time.Second,
	})
	v := sourcetest.Once(t, s)
	if v.Backend == nil || v.Backend.State != inspect.Down || !strings.Contains(v.Backend.Error, "no answer in time") {
		t.Errorf("%+v", v.Backend)
	}
}
