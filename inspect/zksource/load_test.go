package zksource_test

import (
	"fmt"
	"testing"

	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestServerLoadIsReported(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	c := client(t, zks)
	for i := range 20 {
		create(t, c, fmt.Sprintf("/d%d", i), "", 0)
	}
	v, _ := watchHastily(t, zksource.Config{Servers: []string{zks.Addr, "127.0.0.1:1"}, Admin: []string{zks.Admin, "http://127.0.0.1:1"}})
	v.Await("the first pass and inquiry", func() bool {
		return v.Backend != nil && v.Backend.FirstPass && v.Backend.Servers[0].Role != "" && v.Backend.Cost.Requests > 4
	})
	v.Await("the reads in the requests", func() bool {
		c := v.Backend.Cost
		return c.Items > 40 && c.Bytes > 40*68 && c.ItemLimit > 0 && c.ByteLimit > 0 && c.ItemsPerSecond > 0
	})
	v.Await("a lost session", func() bool {
		for _, id := range zks.Embedded.Sessions() {
			if id != c.SessionID() {
				_ = zks.Embedded.ExpireSession(id)
			}
		}
		return v.Backend.Lost > 0
	})
	v.Await("equal counts", func() bool {
		servers := v.Backend.Servers
		return servers[0].Requests == v.Backend.Cost.Requests && servers[1].Requests == 0 && v.Backend.Cost.Requests > 8
	})
}
