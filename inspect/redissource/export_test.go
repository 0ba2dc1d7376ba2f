package redissource

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
)

// SilentFor is the number of time limits after which a silent tracking connection is given up.
const SilentFor = silentFor

// ReadKeyOfNode reads a key as the node of a cluster does that has it; keys is the client of the cluster, and
// may be that of the node.
func ReadKeyOfNode(ctx context.Context, keys redis.UniversalClient, addr, key string) (inspect.Vote, error) {
	m := newMaster(addr, redis.UniversalOptions{Addrs: []string{addr}}, settings{timeout: 30 * time.Second, now: time.Now})
	defer m.close()
	m.keys, m.siblings, m.typed.named = keys, []*master{m}, key
	votes, err := m.readVotes(ctx, []string{key})
	if err != nil {
		return downVote(addr, err), err
	}
	return votes[0], nil
}
