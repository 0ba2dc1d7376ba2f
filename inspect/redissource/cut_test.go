package redissource_test

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// cutting starts a proxy that closes each connection after that many bytes of replies.
func cutting(t *testing.T, m *servertest.Redis, bytes int64) *servertest.Redis {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", m.Addr)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				io.Copy(server, client)
				server.Close()
			}()
			go func() {
				io.CopyN(client, server, bytes)
				client.Close()
				server.Close()
			}()
		}
	}()
	return &servertest.Redis{Addr: l.Addr().String(), Real: true}
}

func TestTruncatedReplyInventsNothing(t *testing.T) {
	t.Parallel()
	m := servertest.StartRedis(t)
	writeAll(t, client(t, m))
	look := func(m *servertest.Redis, timeout time.Duration) *inspect.Snapshot {
		cfg := config([]*servertest.Redis{m})
		cfg.Match, cfg.Timeout, cfg.Budget = nil, timeout, redissource.Budget{Unlimited: true}
		return diagnosed(t, cfg)
	}
	all := look(m, 30*time.Second)
	partial := 0
	results := make([]error, 0, 64)
	var g errgroup.Group
	g.SetLimit(8)
	type cut struct {
		after int64
		s     *inspect.Snapshot
	}
	cuts := make([]cut, 60)
	for i := range cuts {
		after := int64(100 + i*i*8)
		proxy := cutting(t, m, after)
		g.Go(func() error {
			cuts[i] = cut{after, look(proxy, time.Second)}
			return nil
		})
	}
	must.Succeed(t, g.Wait())
	for _, c := range cuts {
		b := c.s.Backends[0]
		if b.State == inspect.Connected {
			for _, wrong := range lies(all, c.s, nil) {
				results = append(results, fmt.Errorf("after %d bytes: %s", c.after, wrong))
			}
			continue
		}
		partial++
		for l := range c.s.Locks() {
			was := all.Lock(l.ID)
			switch {
			case l.State == inspect.StateUnknown:
			case was == nil:
				results = append(results, fmt.Errorf("after %d bytes: %s appeared as %s", c.after, l.ID, l.State))
			default:
				for _, wrong := range lockLies(was, l) {
					results = append(results, fmt.Errorf("after %d bytes: %s %s", c.after, l.ID, wrong))
				}
			}
		}
	}
	for _, err := range results {
		t.Error(err)
	}
	if partial < 10 || partial == len(cuts) {
		t.Errorf("%d of %d reads were cut, want at least 10 but not all", partial, len(cuts))
	}
}
