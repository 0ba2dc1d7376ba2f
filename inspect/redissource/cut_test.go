package redissource_test

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// cutting starts a proxy that closes each connection after that many bytes of replies.
func cutting(t *testing.T, m *servertest.Redis, bytes int) *servertest.Redis {
	t.Helper()
	var mu sync.Mutex
	sent := map[io.Writer]int{} // bytes, by connection
	addr := servertest.StartRelay(t, m.Addr, func(_ int, said []byte, client io.Writer) error {
		mu.Lock()
		defer mu.Unlock()
		said = said[:min(len(said), bytes-sent[client])]
		if sent[client] += len(said); sent[client] == bytes {
			client.Write(said)
			return io.EOF
		}
		_, err := client.Write(said)
		return err
	})
	return &servertest.Redis{Addr: addr, Real: true}
}

func TestTruncatedReplyInventsNothing(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	writeAll(t, m)
	look := func(m *servertest.Redis, timeout time.Duration) *inspect.Snapshot {
		cfg := config(m)
		cfg.Match, cfg.Timeout, cfg.Budget = nil, timeout, redissource.Budget{Unlimited: true}
		return diagnosed(t, cfg)
	}
	all := look(m, 30*time.Second)
	var g errgroup.Group
	g.SetLimit(8)
	cuts := make([]*inspect.Snapshot, 60)
	after := func(i int) int { return 100 + i*i*8 }
	for i := range cuts {
		proxy := cutting(t, m, after(i))
		g.Go(func() error {
			cuts[i] = look(proxy, time.Second)
			return nil
		})
	}
	must.Succeed(t, g.Wait())
	partial := 0
	for i, s := range cuts {
		about := fmt.Sprintf("after %d bytes", after(i))
		if s.Backends[0].State == inspect.Connected {
			lies(t, about, all, s, nil)
			continue
		}
		partial++
		for l := range s.Locks() {
			if l.State == inspect.StateUnknown {
				continue
			}
			if was := all.Lock(l.ID); was != nil {
				lockLies(t, about, was, l)
			} else {
				t.Errorf("%s: %s appeared as %s", about, l.ID, l.State)
			}
		}
	}
	if partial < 10 || partial == len(cuts) {
		t.Errorf("%d of %d reads were cut, want at least 10 but not all", partial, len(cuts))
	}
}
