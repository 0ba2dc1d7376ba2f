//go:build !race

package zksource_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// The race detector would fail this test: go-zookeeper reads its last zxid without a lock while it
// connects (conn.go, sendSetWatches).

// A source that is cancelled or reaches its deadline does not report servers as failed.
func TestCancellationIsNotAFailure(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	s.contended("/l")
	hang := make(chan struct{})
	s.adminServer(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	defer close(hang)
	for i := range 60 {
		v := sourcetest.NewView(t)
		after := time.Duration(rand.IntN(120)) * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if i%2 == 0 {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(after, cancel)
		}
		s.cfg.Once = i%3 == 0
		must.Succeed(t, zksource.New(s.cfg).Run(ctx, v.Emit))
		cancel()
		b := v.Backend
		fails := b != nil && (b.State != inspect.Connected || b.Unseen != nil || b.Servers[0].State == inspect.ServerDown)
		must.True(t, !fails, "ended after", after, b)
	}
}
