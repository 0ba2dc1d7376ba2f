package redissource

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/recipe"
)

// keyReading is one key while it is read.
type keyReading struct {
	answer
	shape shape
	keys  recipe.Keys
	main  probe
	// wanted are what has to be read besides, missing those of them that were not yet.
	wanted, missing []recipe.Ask
	probes          []probe
	// large are those that are not read.
	large []recipe.Ask
}

func (m *master) newReadings(keys []string) []*keyReading {
	all, readings := make([]keyReading, len(keys)), make([]*keyReading, len(keys))
	for i, key := range keys {
		r := &all[i]
		r.shape, r.keys.Key, r.keys.Named = m.typed.shape(key), key, key == m.typed.named
		r.wanted, r.missing, r.keys.Hint = r.shape.asks, r.shape.asks, r.shape.hint
		readings[i] = r
	}
	return readings
}

// beside reads what is missing beside the keys, in one round trip, the keys themselves too where main is set.
func (m *master) beside(ctx context.Context, readings []*keyReading, main bool) error {
	var counted subscribers
	channels := m.channels(readings)
	start := time.Now()
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, r := range readings {
				if main {
					r.main = newProbe(ctx, p, recipe.Ask{Key: r.keys.Key, Type: r.shape.kind})
				}
				r.probes = r.probes[:0]
				for _, ask := range r.missing {
					if ask.Type != recipe.TypeChannel {
						r.probes = append(r.probes, newProbe(ctx, p, ask))
					}
				}
			}
			if !m.isCluster() { // there each node counts its own
				if counted = m.askSubscribers(ctx, p, channels); len(channels) > 0 {
					counted.replication = p.Info(ctx, "replication")
				}
			}
			return nil
		})
		return pipelineError(err, slices.DeleteFunc(cmds, counted.optional))
	})
	if err != nil {
		return err
	}
	middle := start.Add(time.Since(start) / 2).Round(0)
	counts := m.counts(channels, counted)
	for _, r := range readings {
		r.keys.Now, r.keys.Offset = middle, time.Duration(m.offset.Load())
		for _, ask := range r.missing {
			if v, ok := counts[ask.Key]; ok && ask.Type == recipe.TypeChannel {
				if len(counted.plain) == 0 {
					v.Unknown = true
				}
				r.put(ask.Key, v)
			}
		}
		for _, p := range r.probes {
			r.put(p.ask.Key, p.value(middle))
		}
		r.missing = nil
	}
	return nil
}

func (r *keyReading) put(key string, v recipe.Value) {
	if r.keys.Beside == nil {
		r.keys.Beside = map[string]recipe.Value{}
	}
	r.keys.Beside[key] = v
}

func (m *master) channels(readings []*keyReading) []string {
	var channels []string
	for _, r := range readings {
		for _, ask := range r.missing {
			if ask.Type == recipe.TypeChannel {
				channels = append(channels, ask.Key)
			}
		}
	}
	slices.Sort(channels)
	return slices.Compact(channels)
}
