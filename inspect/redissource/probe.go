package redissource

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/recipe"
)

const (
	// maxItems is how many fields or members of a key are read; one that has more than maxSize, or takes more than
	// maxBytes of the server's memory, is no lock.
	maxItems = 512
	maxSize  = 4096
	maxBytes = 1 << 20
	// channelsAtOnce is how many channels one PUBSUB NUMSUB asks about.
	channelsAtOnce = 500
)

// probe reads one key by the type that it is believed to have: its time to live, where that matters, and what is in it.
type probe struct {
	ask  recipe.Ask
	ttl  *redis.DurationCmd
	body redis.Cmder
}

func newProbe(ctx context.Context, p redis.Pipeliner, ask recipe.Ask) probe {
	pr := probe{ask: ask}
	if ask.Type != recipe.TypeList {
		pr.ttl = p.PTTL(ctx, ask.Key)
	}
	switch ask.Type {
	case recipe.TypeHash:
		pr.body = p.HScan(ctx, ask.Key, 0, "", maxItems)
	case recipe.TypeZSet:
		pr.body = p.ZRangeWithScores(ctx, ask.Key, 0, maxItems)
	case recipe.TypeSet:
		pr.body = p.SScan(ctx, ask.Key, 0, "", maxItems)
	case recipe.TypeList:
		pr.body = p.LRange(ctx, ask.Key, 0, maxItems)
	default:
		pr.body = p.GetRange(ctx, ask.Key, 0, shown)
	}
	return pr
}

// value is what the key holds; middle is the middle of the round trip.
func (pr probe) value(middle time.Time) recipe.Value {
	if err := pr.body.Err(); err != nil && err != redis.Nil {
		// A helper of another type is none of that lock.
		return recipe.Value{Type: recipe.TypeNone, Unknown: !isWrongType(err), Denied: isDenied(err)}
	}
	v := recipe.Value{Type: pr.ask.Type}
	if pr.ttl != nil {
		switch left, err := pr.ttl.Result(); {
		case err != nil:
			return recipe.Value{Type: recipe.TypeNone, Unknown: true, Denied: isDenied(err)}
		case left == -2:
			return recipe.Value{Type: recipe.TypeNone}
		case left == -1:
			v.NoExpiry = true
		default:
			v.ExpiresAt = middle.Add(left)
		}
	}
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
		v.Items, v.More = scanned(body, pr.ask.Type)
	}
	if v.More = v.More || len(v.Items) > maxItems; v.More {
		v.Items = v.Items[:min(len(v.Items), maxItems)]
	}
	if len(v.Items) == 0 && v.Type != recipe.TypeString {
		v.Type = recipe.TypeNone // a collection that is empty is not there
	}
	return v
}

// scanned reads the reply to HSCAN or SSCAN, by name: the server's order is any.
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

// subscribers asks how many subscribe to channels, sharded ones included, with a command for many.
type subscribers struct {
	plain, sharded []*redis.MapStringIntCmd
	replication    *redis.StringCmd // nil where it was not asked for
}

func (m *master) askSubscribers(ctx context.Context, p redis.Pipeliner, channels []string) subscribers {
	var s subscribers
	for part := range slices.Chunk(channels, channelsAtOnce) {
		s.plain = append(s.plain, p.PubSubNumSub(ctx, part...))
		if !m.typed.noShards.Load() {
			s.sharded = append(s.sharded, p.PubSubShardNumSub(ctx, part...))
		}
	}
	return s
}

// optional says that a command's error speaks of one feature only.
func (s subscribers) optional(cmd redis.Cmder) bool {
	if info, ok := cmd.(*redis.StringCmd); ok {
		return info == s.replication
	}
	counts, ok := cmd.(*redis.MapStringIntCmd)
	return ok && (slices.Contains(s.plain, counts) || slices.Contains(s.sharded, counts))
}

// elsewhere says that clients may subscribe on replicas of the server, which tell it nothing of that: it has some, or
// our user may not ask.
func (s subscribers) elsewhere() bool {
	if s.replication == nil {
		return false
	}
	replicas, _ := infoNumber(s.replication.Val(), "connected_slaves")
	return replicas > 0 || isDenied(s.replication.Err())
}

// counts are the subscribers by channel. A channel is unknown while one of the two counts that it needs is.
func (m *master) counts(channels []string, s subscribers) map[string]recipe.Value {
	sum := map[string]int64{}
	unknown, denied := false, false
	for _, cmd := range append(s.plain, s.sharded...) {
		counts, err := cmd.Result()
		switch {
		case isDenied(err):
			denied, unknown = true, true
		case err != nil && slices.Contains(s.sharded, cmd):
			m.typed.noShards.Store(true) // before Redis 7: there are no such channels
		case err != nil:
			unknown = true
		}
		for channel, n := range counts {
			sum[channel] += n
		}
	}
	values := make(map[string]recipe.Value, len(channels))
	for _, channel := range channels {
		n := int(min(sum[channel], 1<<20))
		values[channel] = recipe.Value{Type: recipe.TypeChannel, Unknown: unknown, Denied: denied, Subscribers: n, Elsewhere: s.elsewhere()}
	}
	return values
}
