package zksource_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// An inquiry starts before we are connected and ends after the first pass. It has no watch tables of
// the locks found by then, so the source must inquire again before it ends.
func TestEarlyInquiryDoesNotEndLook(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	create(t, c, "/lock", "", 0)
	for range 2 {
		create(t, c, "/lock/e3b0c44298fc1c149afbf4c8996fb924__lock__", "", 3)
	}
	passed := make(chan struct{})
	target := must.Have(url.Parse(zks.Admin))(t)
	forward := httputil.NewSingleHostReverseProxy(target)
	asked := make(chan struct{})
	var first sync.Once
	var refused atomic.Bool
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		first.Do(func() { close(asked) })
		<-passed
		forward.ServeHTTP(w, req)
	}))
	defer admin.Close()
	s := zksource.New(zksource.Config{
		Backend: "zk", Servers: []string{zks.Addr}, Admin: []string{admin.URL}, Once: true,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == zks.Addr && !refused.Swap(true) { // starts the inquiry
				return nil, errors.New("connection refused")
			}
			if addr == zks.Addr { // connects once the AdminServer was asked
				select {
				case <-asked:
				case <-ctx.Done():
				}
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	})
	var pass sync.Once
	watches := false
	s.Run(t.Context(), func(u inspect.Update) {
		if len(u.Put) > 0 {
			pass.Do(func() { close(passed) })
		}
		watches = watches || u.Watches != nil
	})
	pass.Do(func() { close(passed) })
	must.True(t, watches, "the source ended without a watch table")
}
