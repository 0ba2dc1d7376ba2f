package node

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/redisreply"
)

const (
	// maxItems limits the fields or members read from a key. A key that uses more than maxBytes
	// of memory, estimated from maxSamples items, is not a lock.
	maxItems   = 1000
	maxSamples = 4096
	maxBytes   = 1 << 20
	// channelsAtOnce limits the channels per PUBSUB NUMSUB.
	channelsAtOnce = 500
)

// probe reads one key by its presumed type: its value and, except for lists, its TTL.
type probe struct {
	query recipe.Query
	ttl   *redis.DurationCmd
	body  redis.Cmder
}

func newProbe(ctx context.Context, p redis.Pipeliner, query recipe.Query) probe {
	pr := probe{query: query}
	if query.Type != recipe.TypeList {
		pr.ttl = p.PTTL(ctx, query.Key)
	}
	switch query.Type {
	case recipe.TypeHash:
		pr.body = p.HScan(ctx, query.Key, 0, "", maxItems)
	case recipe.TypeZSet:
		pr.body = p.ZRangeWithScores(ctx, query.Key, 0, maxItems)
	case recipe.TypeSet:
		pr.body = p.SScan(ctx, query.Key, 0, "", maxItems)
	case recipe.TypeList:
		pr.body = p.LRange(ctx, query.Key, 0, maxItems)
	default:
		pr.body = p.GetRange(ctx, query.Key, 0, shown)
	}
	return pr
}

// value decodes the replies; middle is the middle of the round trip. An unknown expiry is zero.
func (pr probe) value(middle time.Time) recipe.Value {
	timed := pr.ttl != nil && pr.ttl.Err() == nil
	switch fault := faultOf(pr.body.Err()); {
	case fault == otherType, timed && pr.ttl.Val() == gone: // a helper of another type does not belong to that lock
		return recipe.Value{Type: recipe.TypeNone}
	case fault != noFault:
		return recipe.Value{Type: recipe.TypeNone, Unknown: true}
	}
	v := recipe.Value{Type: pr.query.Type}
	if timed && pr.ttl.Val() == forEver {
		v.NoExpiry = true
	} else if timed {
		v.ExpiresAt = middle.Add(pr.ttl.Val())
	}
	pr.readBody(&v)
	if v.More = v.More || len(v.Items) > maxItems; v.More {
		v.Items = v.Items[:min(len(v.Items), maxItems)]
	}
	if len(v.Items) == 0 && (v.Type != recipe.TypeString || v.Text == "" && !timed) {
		v.Type = recipe.TypeNone // an empty collection does not exist; an empty string may
	}
	return v
}

// readBody decodes the key's content.
func (pr probe) readBody(v *recipe.Value) {
	switch body := pr.body.(type) {
	case *redis.StringCmd:
		v.Text = cut(body.Val())
	case *redis.ZSliceCmd:
		for _, z := range body.Val() {
			name, _ := z.Member.(string)
			v.Items = append(v.Items, recipe.Item{Name: name, Score: z.Score})
		}
	case *redis.StringSliceCmd:
		for _, name := range body.Val() {
			v.Items = append(v.Items, recipe.Item{Name: name})
		}
	case *redis.ScanCmd:
		v.Items, v.More = scanned(body, pr.query.Type)
	}
}

// Values that go-redis returns for PTTL of a missing key, and of a key without expiry.
const (
	gone    = time.Duration(-2)
	forEver = time.Duration(-1)
)

// scanned reads the reply to HSCAN or SSCAN, sorted by name, since the server's order is
// arbitrary.
func scanned(cmd *redis.ScanCmd, t recipe.KeyType) (items []recipe.Item, more bool) {
	list, cursor := cmd.Val()
	step := 1
	if t == recipe.TypeHash {
		step = 2
	}
	for i := 0; i+step <= len(list); i += step {
		item := recipe.Item{Name: list[i]}
		if step == 2 {
			item.Text = cut(list[i+1])
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b recipe.Item) int { return cmp.Compare(a.Name, b.Name) })
	return items, cursor != 0
}

func cut(s string) string { return s[:min(len(s), shown)] }

// subscribers counts the subscribers of many channels at once, sharded channels included.
type subscribers struct {
	plain, sharded []*redis.MapStringIntCmd
	replication    *redis.StringCmd // nil if not requested
}

func (m *Master) requestSubscribers(ctx context.Context, p redis.Pipeliner, channels []string) subscribers {
	var s subscribers
	for part := range slices.Chunk(channels, channelsAtOnce) {
		s.plain = append(s.plain, p.PubSubNumSub(ctx, part...))
		if !m.typed.noShards.Load() {
			s.sharded = append(s.sharded, p.PubSubShardNumSub(ctx, part...))
		}
	}
	return s
}

// elsewhere reports whether clients may subscribe on replicas, whose subscribers the server does
// not count. They may if the server has replicas, or hides whether it has any.
func (s subscribers) elsewhere() bool {
	if s.replication == nil {
		return false
	}
	replicas, _ := infoNumber(s.replication.Val(), "connected_slaves")
	return replicas > 0 || s.hidden()
}

// hidden reports whether the server hides whether it has replicas.
func (s subscribers) hidden() bool {
	if s.replication == nil {
		return false
	}
	err := s.replication.Err()
	return redisreply.Denied(err) || redisreply.UnknownCommand(err)
}

// channelValue holds the number of subscribers of a channel, or the failed command if it is
// unknown.
type channelValue struct {
	recipe.Value
	failed redis.Cmder
}

// counts returns the subscribers by channel. A channel is unknown if either of its two counts is.
func (m *Master) counts(channels []string, s subscribers) map[string]channelValue {
	sum := map[string]int64{}
	var failed redis.Cmder
	for _, cmd := range append(s.plain, s.sharded...) {
		counts, err := cmd.Result()
		switch {
		case err == nil:
		case slices.Contains(s.sharded, cmd) && faultOf(err) == commandFault && !redisreply.Denied(err):
			m.typed.noShards.Store(true) // no sharded channels before Redis 7
		case failed == nil:
			failed = cmd
		}
		for channel, n := range counts {
			sum[channel] += n
		}
	}
	if len(s.plain) == 0 {
		return nil
	}
	values := make(map[string]channelValue, len(channels))
	for _, channel := range channels {
		values[channel] = channelValue{
			Value: recipe.Value{
				Type: recipe.TypeChannel, Unknown: failed != nil,
				Subscribers: int(min(sum[channel], 1<<20)), Elsewhere: s.elsewhere(),
			},
			failed: failed,
		}
	}
	return values
}
