//go:build unix

package campaign

import (
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/servertest"
)

// slotMove moves a slot of a Cluster to another node, as an operator does when adding a node.
type slotMove struct {
	from, to *servertest.Redis
	slot     int64
}

// newSlotMove draws a slot with keys of a lock; nil if the node has none, or does not answer.
func newSlotMove(t *testing.T, r *rand.Rand, nodes []*servertest.Redis) *slotMove {
	at := r.IntN(len(nodes))
	m := &slotMove{from: nodes[at], to: nodes[(at+1+r.IntN(len(nodes)-1))%len(nodes)]}
	c := dialAdmin(m.from.Addr)
	defer c.Close()
	keys := c.Keys(t.Context(), "*campaign*").Val()
	if len(keys) == 0 {
		return nil
	}
	var err error
	if m.slot, err = c.ClusterKeySlot(t.Context(), keys[r.IntN(len(keys))]).Result(); err != nil {
		return nil
	}
	return m
}

// run moves the slot, or the rest of it. It returns false if a node does not answer; then call it
// again.
func (m *slotMove) run(t *testing.T) bool {
	source, target := dialAdmin(m.from.Addr), dialAdmin(m.to.Addr)
	defer source.Close()
	defer target.Close()
	ctx := t.Context()
	sourceID, targetID := source.Do(ctx, "cluster", "myid").Val(), target.Do(ctx, "cluster", "myid").Val()
	if sourceID == nil || targetID == nil {
		return false
	}
	set := func(c *redis.Client, state string, id any) error {
		return c.Do(ctx, "cluster", "setslot", m.slot, state, id).Err()
	}
	if err := set(target, "importing", sourceID); err != nil {
		return strings.Contains(err.Error(), "already the owner") && set(source, "node", targetID) == nil
	}
	if set(source, "migrating", targetID) != nil || !m.migrate(t, source) {
		return false
	}
	return set(target, "node", targetID) == nil && set(source, "node", targetID) == nil
}

// migrate moves the keys.
func (m *slotMove) migrate(t *testing.T, source *redis.Client) bool {
	host, port, _ := net.SplitHostPort(m.to.Addr)
	for {
		keys, err := source.ClusterGetKeysInSlot(t.Context(), int(m.slot), 100).Result()
		if err != nil || len(keys) == 0 {
			return err == nil
		}
		command := []any{"migrate", host, port, "", 0, 1000, "keys"}
		for _, key := range keys {
			command = append(command, key)
		}
		if source.Do(t.Context(), command...).Err() != nil {
			return false
		}
	}
}
