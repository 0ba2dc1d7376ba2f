package node

import (
	"context"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Gone are the keys that are not there: one by one where a count of all says that some are not.
func (m *Master) Gone(ctx context.Context, keys []string) ([]string, error) {
	n, err := m.exist(ctx, keys)
	if err != nil || n == int64(len(keys)) {
		return nil, err
	}
	return m.goneOf(ctx, keys)
}

// goneOf asks for each key.
func (m *Master) goneOf(ctx context.Context, keys []string) (gone []string, err error) {
	there := make([]*redis.IntCmd, len(keys))
	err = m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				there[i] = p.Exists(ctx, key)
			}
			return nil
		})
		return m.serverError(err, cmds)
	})
	for i, key := range keys {
		if err == nil && there[i].Err() == nil && there[i].Val() == 0 {
			gone = append(gone, key)
		}
	}
	return gone, err
}

// exist counts how many of the keys there are.
func (m *Master) exist(ctx context.Context, keys []string) (int64, error) {
	var n int64
	err := m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) (err error) {
		n, err = c.Exists(ctx, keys...).Result()
		return err
	})
	return n, err
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
