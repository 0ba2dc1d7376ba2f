package node

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// readAuxiliary reads the missing helper keys in one round trip. With main set, it also reads the
// keys themselves.
func (m *Master) readAuxiliary(ctx context.Context, readings []*keyReading, main bool) error {
	var counted subscribers
	var clock *redis.TimeCmd
	channels := channelsOf(readings)
	scored := slices.ContainsFunc(readings, func(r *keyReading) bool { return r.scored(main) })
	if scored && m.keys != nil {
		m.rereadClock(ctx)
	}
	var start time.Time // when the request left; it may have waited for a slot
	err := m.pipelinedKeys(ctx, func(ctx context.Context, p redis.Pipeliner) {
		start = m.now()
		if scored && m.keys == nil {
			clock = m.requestClock(ctx, p)
		}
		for _, r := range readings {
			r.request(ctx, p, main)
		}
		if m.siblings != nil || m.cluster {
			return // each cluster node counts only its own subscribers
		}
		if counted = m.requestSubscribers(ctx, p, channels); len(channels) > 0 {
			counted.replication = p.Info(ctx, "replication")
		}
	})
	if err != nil {
		return err
	}
	end := m.now()
	middle := start.Add(end.Sub(start) / 2).Round(0)
	if clock != nil {
		m.readClock(new(Status), clock, "", middle)
	}
	counts := m.counts(channels, counted)
	if m.siblings != nil {
		counts = m.countEverywhere(ctx, channels)
	}
	for _, r := range readings {
		r.keys.Now, r.keys.Offset = middle, time.Duration(m.clock.offset.Load())
		r.keys.ClockUnknown = m.clock.unknown.Load() != nil
		m.readCounts(r, counts, counted)
		for _, p := range r.probes {
			m.readProbe(r, p, middle)
		}
		r.missing = nil
	}
	return nil
}

// readCounts records the number of subscribers of each channel, or why it is unknown.
func (m *Master) readCounts(r *keyReading, counts map[string]channelValue, counted subscribers) {
	for _, query := range r.missing {
		if query.Type != recipe.TypeChannel {
			continue
		}
		if counts == nil { // the client is for a whole cluster
			r.put(query.Key, recipe.Value{Type: recipe.TypeChannel, Unknown: true})
			r.note(inspect.Unseen{
				Aspect: aspectOf(query.Feeds), Where: m.Address(), Read: "PUBSUB NUMSUB",
				Reason: "each node of a cluster counts its own subscribers",
			})
		}
		if v, ok := counts[query.Key]; ok {
			r.put(query.Key, v.Value)
			if v.failed != nil {
				r.miss(m, aspectOf(query.Feeds), v.failed, query.Key)
			} else {
				m.typed.count(query.Key, v.Subscribers)
			}
		}
	}
	if counted.hidden() && r.noSubscribers() {
		r.miss(m, inspect.AspectWaiters, counted.replication, r.keys.Key) // the waiters are dead, or on replicas
	}
}

// noSubscribers reports whether all channels that wake a single waiter lack subscribers; false if
// there are no such channels.
func (r *keyReading) noSubscribers() bool {
	waiters := 0
	for _, query := range r.missing {
		if query.Type == recipe.TypeChannel && recipe.WakesOne(r.keys.Key, query.Key) {
			if r.keys.Auxiliary[query.Key].Subscribers > 0 {
				return false
			}
			waiters++
		}
	}
	return waiters > 0
}

func (r *keyReading) request(ctx context.Context, p redis.Pipeliner, main bool) {
	if main {
		r.main = newProbe(ctx, p, recipe.Query{Key: r.keys.Key, Type: r.shape.kind})
	}
	r.probes = r.probes[:0]
	for _, query := range r.missing {
		if query.Type != recipe.TypeChannel {
			r.probes = append(r.probes, newProbe(ctx, p, query))
		}
	}
}

// readProbe records the content of a helper key, or that it could not be read.
func (m *Master) readProbe(r *keyReading, p probe, middle time.Time) {
	v := p.value(middle)
	r.put(p.query.Key, v)
	switch {
	case v.Unknown:
		r.miss(m, aspectOf(p.query.Feeds), p.body, p.query.Key)
	case v.Type != recipe.TypeNone && p.ttl != nil && faultOf(p.ttl.Err()) != noFault:
		r.miss(m, inspect.AspectExpiry, p.ttl, p.query.Key)
	}
}

// countEverywhere adds up the subscribers on all nodes of a cluster, except on replicas.
func (m *Master) countEverywhere(ctx context.Context, channels []string) map[string]channelValue {
	if len(channels) == 0 {
		return nil
	}
	sum := make(map[string]channelValue, len(channels))
	for _, node := range m.siblings {
		var counted subscribers
		err := node.pipelined(ctx, func(ctx context.Context, p redis.Pipeliner) {
			counted = node.requestSubscribers(ctx, p, channels)
		})
		unasked := redis.NewCmd(ctx, "pubsub", "numsub")
		unasked.SetErr(err)
		here := node.counts(channels, counted)
		for _, channel := range channels {
			v := sum[channel]
			v.Type, v.Elsewhere = recipe.TypeChannel, true
			v.Subscribers += here[channel].Subscribers
			if failed := here[channel].failed; failed != nil {
				v.failed, v.Unknown = failed, true
			} else if err != nil {
				v.failed, v.Unknown = unasked, true
			}
			sum[channel] = v
		}
	}
	return sum
}

func (r *keyReading) put(key string, v recipe.Value) {
	if r.keys.Auxiliary == nil {
		r.keys.Auxiliary = map[string]recipe.Value{}
	}
	r.keys.Auxiliary[key] = v
}

func channelsOf(readings []*keyReading) []string {
	var channels []string
	for _, r := range readings {
		for _, query := range r.missing {
			if query.Type == recipe.TypeChannel {
				channels = append(channels, query.Key)
			}
		}
	}
	slices.Sort(channels)
	return slices.Compact(channels)
}
