package redissource

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/redissource/node"
	"github.com/lockscope/lockscope/internal/must"
)

// If a node does not answer, the next one is asked.
func TestTopologyReadSkipsClosedNode(t *testing.T) {
	closed := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr := closed.Addr().String()
	closed.Close()
	settings := node.Settings{Timeout: time.Minute, Now: time.Now}
	gone := node.New(addr, redis.UniversalOptions{Addrs: []string{addr}}, settings)
	defer gone.Close()
	_, err := readTopology(t.Context(), []*node.Master{gone, gone})
	const why = "master ADDR: connection refused"
	must.Equal(t, strings.ReplaceAll(err.Error(), addr, "ADDR"), why+"; "+why)
}
