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
func TestTopologyReadSkipsBusyNode(t *testing.T) {
	mute := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t) // accepts connections and never answers
	defer mute.Close()
	addr := mute.Addr().String()
	busy := node.New(addr, redis.UniversalOptions{Addrs: []string{addr}}, node.Settings{Timeout: time.Millisecond, Now: time.Now})
	defer busy.Close()
	if _, err := readTopology(t.Context(), []*node.Master{busy, busy}); err == nil || strings.Count(err.Error(), "master "+addr) != 2 {
		t.Errorf("%v does not name both nodes", err)
	}
}
