package node

import (
	"context"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Gone returns the keys that do not exist. It checks each key only if a count shows that some are
// missing.
func (m *Master) Gone(ctx context.Context, keys []string) (gone []string, err error) {
	var there int64
	err = m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) (err error) {
		there, err = c.Exists(ctx, keys...).Result()
		return err
	})
	if err != nil || there == int64(len(keys)) {
		return nil, err
	}
	each := make([]*redis.IntCmd, len(keys))
	err = m.pipelinedKeys(ctx, func(ctx context.Context, p redis.Pipeliner) {
		for i, key := range keys {
			each[i] = p.Exists(ctx, key)
		}
	})
	for i, key := range keys {
		if err == nil && each[i].Err() == nil && each[i].Val() == 0 {
			gone = append(gone, key)
		}
	}
	return gone, err
}

// Joined polls the subscribers of channels, since Redis does not push them. It returns the locks
// whose number of subscribers changed.
func (m *Master) Joined(ctx context.Context) []string {
	channels, before := m.typed.watched()
	if len(channels) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(channels))
	var counted subscribers
	err := m.pipelined(ctx, func(ctx context.Context, p redis.Pipeliner) {
		counted = m.requestSubscribers(ctx, p, names)
	})
	if err != nil {
		return nil // the next read reports it
	}
	var locks []string
	for channel, v := range m.counts(names, counted) {
		if !v.Unknown && v.Subscribers != before[channel] {
			locks = append(locks, channels[channel])
		}
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}
