package node

import (
	"context"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Gone returns the keys that do not exist: one by one where a count of all says that some do not.
func (m *Master) Gone(ctx context.Context, keys []string) (gone []string, err error) {
	var all *redis.IntCmd
	each := make([]*redis.IntCmd, len(keys))
	err = m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		if all = c.Exists(ctx, keys...); all.Err() != nil || all.Val() == int64(len(keys)) {
			return all.Err()
		}
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				each[i] = p.Exists(ctx, key)
			}
			return nil
		})
		return m.serverError(err, cmds)
	})
	for i, key := range keys {
		if err == nil && each[i] != nil && each[i].Err() == nil && each[i].Val() == 0 {
			gone = append(gone, key)
		}
	}
	return gone, err
}

// Joined asks for the subscribers of channels, which nobody pushes, and returns the locks where their number changed.
func (m *Master) Joined(ctx context.Context) []string {
	channels := m.typed.watched()
	if len(channels) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(channels))
	var counted subscribers
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			counted = m.requestSubscribers(ctx, p, names)
			return nil
		})
		return onlyBroken(err)
	})
	if err != nil {
		return nil // the next read reports it
	}
	var locks []string
	for channel, v := range m.counts(names, counted) {
		if was := channels[channel]; !v.Unknown && v.Subscribers != was.count {
			locks = append(locks, was.lock)
		}
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}
