package redissource_test

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/servertest"
)

// A network can drop a connection silently while the server answers on others. The source
// reconnects and finds the missed changes.
func TestSilentlyLostTrackingConnectionIsReestablished(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	var silent atomic.Bool
	var tracking atomic.Value // the connection with pushes, before it is silent
	proxy := servertest.StartRelay(t, m.Addr, func(_ int, said []byte, client io.Writer) error {
		switch {
		case silent.Load() && tracking.Load() == client:
			return nil
		case !silent.Load() && bytes.Contains(said, []byte("invalidate")):
			tracking.Store(client)
		}
		_, err := client.Write(said)
		return err
	})
	cfg := pushConfig(&servertest.Redis{Addr: proxy})
	cfg.Timeout = 5 * time.Second // after which silence counts as a lost connection
	v := watchPushed(t, cfg)
	set(t, m, "lock:a", "0", 0)
	v.Await("pushed", holder(v, "lock:a", "0"))
	silent.Store(true)
	set(t, m, "lock:a", "1", 0)
	v.Await("the missed change", holder(v, "lock:a", "1"))
	set(t, m, "lock:a", "2", 0)
	v.Await("pushed again", holder(v, "lock:a", "2"))
}
