package node

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// The status follows the master that Sentinel names.
func TestStatusFollowsSentinel(t *testing.T) {
	servers := servertest.StartEmbeddedMasters(t, 3)
	one, other, sentinel := servers[0], servers[1], servers[2]
	var named atomic.Pointer[servertest.Redis] // nil before the first
	sentinel.Mini.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		master := named.Load()
		if cmd != "SENTINEL" || master == nil {
			return false // the embedded server does not know the command
		}
		host, port, _ := net.SplitHostPort(master.Addr)
		c.WriteStrings([]string{host, port})
		return true
	})
	clock := first
	options := redis.UniversalOptions{Addrs: []string{sentinel.Addr}, MasterName: "orders"}
	m := New("orders", options, Settings{Timeout: 10 * time.Second, Now: func() time.Time { return clock }})
	t.Cleanup(m.Close)
	_, err := m.ReadStatus(t.Context())
	must.True(t, err != nil, "a status without a master")
	for _, step := range []struct {
		about    string
		named    *servertest.Redis
		at       string
		replaced time.Time
	}{
		{"the first master", one, one.Addr, time.Time{}},
		{"the same", one, one.Addr, time.Time{}},
		{"no answer", nil, one.Addr, time.Time{}},
		{"another", other, other.Addr, first.Add(2 * time.Minute)},
		{"the other", other, other.Addr, first.Add(2 * time.Minute)},
	} {
		clock = clock.Add(time.Minute)
		named.Store(step.named)
		must.Have(m.ReadStatus(t.Context()))(t)
		must.Equal(t, m.Address(), step.at, step.about)
		must.Equal(t, m.ReplacedAfter(), step.replaced, step.about, "replaced the master of")
		must.Same(t, m.clientAt, []string{step.at}, step.about, "asked")
	}
}
