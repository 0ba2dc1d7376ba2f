package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
)

// ClusterSlots asks a cluster node for the owners of all slots.
func (m *Master) ClusterSlots(ctx context.Context) ([]redis.ClusterSlot, error) {
	var answer []redis.ClusterSlot
	var right string // the missing right; empty if the request was never sent
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) (err error) {
		cmd := c.ClusterSlots(ctx)
		right = rightFor(cmd, "")
		answer, err = cmd.Result()
		return err
	})
	switch {
	case err != nil && right != "":
		return nil, fmt.Errorf("%w (allow it: ACL SETUSER %s %s)", err, inspect.Escape(m.User()), right)
	case err == nil && len(answer) == 0:
		return nil, fmt.Errorf("master %s: the server reports no cluster slots", m.Address())
	}
	return answer, err
}

// NodeTraffic counts the traffic to the nodes of a cluster, by address.
type NodeTraffic struct{ byAddr sync.Map }

// Add counts the traffic to an address as traffic to a node.
func (t *NodeTraffic) Add(addr string, m *Master) { t.byAddr.Store(addr, &m.sent) }

// NewKeyClient returns a client for a whole cluster, which follows keys to the nodes that serve
// them.
func NewKeyClient(options redis.UniversalOptions, timeout time.Duration, sent *NodeTraffic) *redis.ClusterClient {
	options = New("", options, Settings{Timeout: timeout}).options
	o := options.Cluster()
	o.MaxRedirects = 3
	o.NewClient = func(node *redis.Options) *redis.Client {
		client := redis.NewClient(node)
		of, _ := sent.byAddr.LoadOrStore(node.Addr, new(traffic))
		client.AddHook(readOnly{of.(*traffic)})
		return client
	}
	return redis.NewClusterClient(o)
}
