package redissource_test

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// deaf is a proxy that drops all replies on the tracking connection while silent is set, without
// closing the connection.
type deaf struct {
	*servertest.Redis
	silent atomic.Bool
}

func newDeaf(t *testing.T, m *servertest.Redis) *deaf {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	d := &deaf{Redis: &servertest.Redis{Addr: l.Addr().String(), Real: true}}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	open.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", m.Addr)
			if err != nil {
				near.Close()
				continue
			}
			var tracking atomic.Bool
			open.Go(func() {
				defer far.Close()
				passOn(far, near, func(request []byte) bool {
					if bytes.Contains(bytes.ToLower(request), []byte("tracking")) {
						tracking.Store(!d.silent.Load()) // a later tracking connection works
					}
					return true
				})
			})
			open.Go(func() {
				defer near.Close()
				passOn(near, far, func([]byte) bool { return !tracking.Load() || !d.silent.Load() })
			})
		}
	})
	return d
}

// passOn forwards the chunks that may pass.
func passOn(to io.Writer, from io.Reader, may func([]byte) bool) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !may(buffer[:n]) {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A network can drop a connection silently while the server answers on others. The source
// reconnects and finds the missed changes.
func TestSilentlyLostTrackingConnectionIsReestablished(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	d := newDeaf(t, m)
	cfg := pushConfig(d.Redis)
	cfg.Timeout = 5 * time.Second // after which silence counts as a lost connection
	v, _ := watch(t, cfg)
	awaitPush(v)
	set(t, m, "lock:a", "0", 0)
	v.Await("pushed", holder(v, "lock:a", "0"))
	d.silent.Store(true)
	set(t, m, "lock:a", strconv.Itoa(1), 0)
	v.Await("the missed change", holder(v, "lock:a", "1"))
	set(t, m, "lock:a", "2", 0)
	v.Await("pushed again", holder(v, "lock:a", "2"))
}
