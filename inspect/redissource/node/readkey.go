package node

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
)

// ReadKey reads one key and its related keys as a Source does. It uses the caller's client and
// leaves it open. now is the clock; limit bounds each round trip. An error means that the master,
// displayed as addr, could not be asked.
func ReadKey(
	ctx context.Context, now func() time.Time, client redis.UniversalClient, addr, key string, limit time.Duration,
) (inspect.Vote, error) {
	m := New(addr, redis.UniversalOptions{}, Settings{Timeout: limit, Now: now, Named: key, Patient: true})
	m.client, m.borrowed = client, true
	_, m.cluster = client.(*redis.ClusterClient)
	if err := m.do(ctx, m.readTime); err != nil {
		return DownVote(addr, err), err
	}
	votes, err := m.Votes(ctx, []string{key})
	if err != nil {
		return DownVote(addr, err), err
	}
	return votes[0], nil
}

// readTime reads the server's clock, from INFO if TIME is refused.
func (m *Master) readTime(ctx context.Context, c redis.UniversalClient) error {
	start := m.now()
	clock, info := c.Time(ctx), ""
	if err := onlyBroken(clock.Err()); err != nil {
		return err
	}
	if clock.Err() != nil {
		start = m.now()
		reply := c.Info(ctx, "server")
		if err := onlyBroken(reply.Err()); err != nil {
			return err
		}
		info = reply.Val()
	}
	m.readClock(new(Status), clock, info, start.Add(m.now().Sub(start)/2))
	return nil
}
