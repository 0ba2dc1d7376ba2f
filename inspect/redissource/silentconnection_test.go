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

// deaf is a way to a server; on the tracking connection nothing comes back any more once it is told so, and
// no connection ends.
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
						tracking.Store(!d.silent.Load()) // the next one is heard
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

// passOn writes what it reads and what may pass.
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

// A connection that was forgotten on its way, while the server answers on others, is made again; what was
// missed is found.
func TestATrackingConnectionThatIsLostWithoutAWordIsMadeAnew(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	d := newDeaf(t, m)
	cfg := pushConfig(d.Redis)
	cfg.Timeout = 5 * time.Second // of its silence
	v, _ := watch(t, cfg)
	awaitPush(v)
	set(t, m, "lock:a", "0", 0)
	v.Await("pushed", holder(v, "lock:a", "0"))
	d.silent.Store(true)
	set(t, m, "lock:a", strconv.Itoa(1), 0)
	v.Await("what was missed", holder(v, "lock:a", "1"))
	set(t, m, "lock:a", "2", 0)
	v.Await("pushed again", holder(v, "lock:a", "2"))
}
