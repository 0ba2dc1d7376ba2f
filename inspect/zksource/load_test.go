package zksource_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcetest"
	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
	"lockscope/internal/zkserver"
)

func TestTheLoadOnEachServerIsTold(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	for i := range 20 {
		create(t, c, fmt.Sprintf("/d%d", i), "", 0)
	}
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr, "127.0.0.1:1"}, Admin: []string{zks.Admin, "http://127.0.0.1:1"}})
	v.Await("looked at and asked", func() bool {
		return v.Backend != nil && v.Backend.FirstPass && v.Backend.Servers[0].Role != "" && v.Backend.Cost.Requests > 40
	})
	v.Await("the session is lost and made anew", func() bool {
		for _, id := range zks.Embedded.Sessions() {
			if id != c.SessionID() {
				_ = zks.Embedded.ExpireSession(id)
			}
		}
		return v.Backend.Lost > 0
	})
	v.Await("both counts are one", func() bool {
		servers := v.Backend.Servers
		return servers[0].Requests == v.Backend.Cost.Requests && servers[1].Requests == 0 && v.Backend.Cost.Requests > 60
	})
}

// Whenever it is ended, by a cancel or by a deadline, nothing has failed.
func TestOurOwnEndIsNobodysFailure(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	contended(t, zks, "/l")
	hang := make(chan struct{})
	admin := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer admin.Close()
	defer close(hang)
	for i := range 60 {
		v := sourcetest.NewView(t)
		after := time.Duration(rand.IntN(120)) * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), after)
		if i%2 == 0 {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(after, cancel)
		}
		s := zksource.New(zksource.Config{Backend: "zk", Servers: []string{zks.Addr}, Admin: []string{admin.URL}, Once: i%3 == 0})
		if err := s.Run(ctx, v.Emit); err != nil {
			t.Fatal(err)
		}
		cancel()
		if b := v.Backend; b != nil && (b.State != inspect.Connected || b.Unseen != nil || b.Servers[0].State == inspect.ServerDown) {
			t.Errorf("ended after %v: %+v", after, b)
		}
	}
}
